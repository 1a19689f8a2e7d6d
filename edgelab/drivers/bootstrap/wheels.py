"""The packages that a worker runtime needs, as files: this machine's own, or downloaded for the board's platform."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from edgelab.drivers.bootstrap.board_python import BoardPython
from edgelab.errors import NotReadyError

PACKAGES = ("apache-tvm", "apache-tvm-ffi", "numpy", "ml_dtypes", "typing_extensions")
_DOWNLOAD_LIMIT_S = 900.0
_PLATFORMS = (
    "manylinux_2_34",
    "manylinux_2_31",
    "manylinux_2_28",
    "manylinux_2_27",
    "manylinux_2_17",
    "manylinux2014",
)
"""Newest first; wheels for an older C library run on a newer one."""


def fits_this_machine(python: BoardPython) -> bool:
    """Whether what is installed here runs there as well."""
    here = (sys.version_info[0], sys.version_info[1])
    return python.version == here and python.machine == platform.machine()


def package_files(python: BoardPython, cache: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of all packages as (path in site-packages, content). Blocks.

    Raises `NotReadyError` when a package for the board's platform cannot be had.
    """
    if fits_this_machine(python):
        for name in PACKAGES:
            yield from _installed(name)
        return
    for wheel in download(python, cache):
        with zipfile.ZipFile(wheel) as archive:
            for path in archive.namelist():
                if not path.endswith("/"):
                    yield path, archive.read(path)


def _installed(name: str) -> Iterator[tuple[str, bytes]]:
    for file in importlib.metadata.distribution(name).files or []:
        path = Path(str(file.locate()))
        if ".." not in file.parts and path.is_file():
            yield file.as_posix(), path.read_bytes()


def versions() -> dict[str, str]:
    """Return the versions that are installed here: the board gets the same."""
    return {name: importlib.metadata.version(name) for name in PACKAGES}


def download(python: BoardPython, cache: Path) -> list[Path]:
    """Return wheels for the board's platform, downloaded into `cache` where they are not there yet. Blocks.

    Raises `NotReadyError` with pip's own words.
    """
    folder = cache / "wheels" / f"{python.machine}-cp{python.tag}"
    folder.mkdir(parents=True, exist_ok=True)
    return [_wheel(name, version, python, folder) for name, version in versions().items()]


def _wheel(name: str, version: str, python: BoardPython, folder: Path) -> Path:
    stem = f"{name.replace('-', '_')}-{version}-"
    if (there := next(folder.glob(f"{stem}*.whl"), None)) is not None:
        return there
    platforms = [f"--platform={tag}_{python.machine}" for tag in _PLATFORMS]
    argv = [
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--only-binary=:all:", "--implementation=cp", f"--python-version={python.tag}", *platforms,
        "--dest", str(folder), f"{name}=={version}",
    ]  # fmt: skip
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_DOWNLOAD_LIMIT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise NotReadyError(f"{name} {version} was not downloaded within {_DOWNLOAD_LIMIT_S:g} s.") from error
    found = next(folder.glob(f"{stem}*.whl"), None)
    if done.returncode != 0 or found is None:
        said = (done.stderr.strip().splitlines() or ["no word of why"])[-1]
        raise NotReadyError(
            f"There is no {name} {version} for Python {python.tag} on {python.machine} to be had: {said}",
            advice="The controller needs network for this once; the board does not.",
        )
    return found
