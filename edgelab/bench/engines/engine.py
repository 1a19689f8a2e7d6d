"""What an engine is to the controller: a name, whether it is installed, and how its child process is started."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from edgelab.errors import EdgeLabError, ExitCode

Problem = Literal["unsupported", "wrong", "failed"]
"""`unsupported`: the engine does not take this task; `wrong`: it computes something else; `failed`: it broke."""


class EngineFailure(EdgeLabError):
    """An engine gave no measurement of a task; `detail` is what the engine itself said."""

    exit_code = ExitCode.WORK_FAILED

    def __init__(self, problem: Problem, message: str, *, detail: str = "", advice: str = "") -> None:
        super().__init__(message, advice=advice)
        self.problem: Problem = problem
        self.detail = detail


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an engine can be used here: its version, or None with the reason why not and what to do.

    `versions` has every package that takes part, by its name on PyPI.
    """

    version: str | None
    versions: dict[str, str] = {}
    reason: str = ""
    advice: str = ""


class Engine(Protocol):
    """One engine. Nothing here imports the engine itself."""

    @property
    def name(self) -> str:
        """What the operator calls it."""
        ...

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        ...

    @property
    def runner(self) -> str:
        """The class that runs it in the child, as `module:class` (see `runner_child.Runner`)."""
        ...

    def available(self) -> Availability:
        """Return its version, or why it cannot be used here."""
        ...

    def environment(self, threads: int, cache: Path) -> Mapping[str, str]:
        """Return what its libraries read from the environment when they are loaded."""
        ...


class InstalledEngine(msgspec.Struct, frozen=True, kw_only=True):
    """An engine that comes as packages (the first one gives the version), some with a compiler beside them."""

    name: str
    title: str
    runner: str
    packages: tuple[str, ...]
    extra: str = ""
    compiler: bool = False

    def available(self) -> Availability:
        """Look for the packages' metadata and for the compiler; takes milliseconds."""
        versions: dict[str, str] = {}
        missing: list[str] = []
        for package in self.packages:
            try:
                versions[package] = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                missing.append(package)
        if missing:
            advice = f"pip install 'edgelab[{self.extra}]'" if self.extra else f"pip install {missing[0]}"
            reason = f"not installed: {', '.join(missing)}"
            return Availability(version=None, versions=versions, reason=reason, advice=advice)
        if self.compiler and not shutil.which(compiler := os.environ.get("CXX") or "g++"):
            reason = f"there is no C++ compiler {compiler}"
            return Availability(version=None, versions=versions, reason=reason, advice="apt-get install g++")
        return Availability(version=versions[self.packages[0]], versions=versions)

    def environment(self, threads: int, cache: Path) -> Mapping[str, str]:
        """Return the settings of OpenMP and of torch's compiler; engines that use neither ignore them.

        An idle OpenMP thread of GCC's library spins 300,000 times before it sleeps, which was 6 to 8 ms of a
        core after each call and would run into the other side's block. With 10,000 it was 0.2 ms, as long as
        TVM's own pool spins here.
        """
        return {
            "OMP_NUM_THREADS": str(threads),
            "GOMP_SPINCOUNT": "10000",
            "TORCHINDUCTOR_CACHE_DIR": str(cache / "engines" / "inductor"),
            # A pool of compiler processes would outlive the child in a session of its own.
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        }
