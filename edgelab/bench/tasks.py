"""The task suite: every task by name, and any plain KernelBench-style file by path. Imports no torch, no tvm."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from edgelab.bench.task_template import BACKEND_OF_DOMAIN, TaskSpec, digest_of, read_template
from edgelab.errors import TaskError, UsageError

__all__ = ["Catalogue", "TaskSpec", "catalogue_root", "digest_of", "resolve"]

LEVELS = (1, 2, 3)
"""Basic compute patterns, fused operator graphs, compact model graphs."""


class Catalogue(msgspec.Struct, frozen=True):
    """All tasks of the suite, ordered by id."""

    specs: tuple[TaskSpec, ...]

    @classmethod
    def load(cls, root: Path) -> Catalogue:
        """Read `root`/level{1,2,3}/<family>/*.toml.

        Raises one TaskError that lists every problem found: a line for a file, each naming file and key.
        """
        if not root.is_dir():
            raise TaskError(f"the task suite is not at {root}.", advice="Run from a complete installation.")
        specs: list[TaskSpec] = []
        problems: list[str] = []
        for level in LEVELS:
            folder = root / f"level{level}"
            for description in sorted(folder.glob("*/*.toml")):
                try:
                    specs += read_template(description, level)
                except TaskError as error:
                    problems.append(str(error))
            problems += [
                f"{module}: no {module.stem}.toml beside it."
                for module in sorted(folder.glob("*/*.py"))
                if not module.with_suffix(".toml").exists()
            ]
        problems += _duplicates(specs, "name", lambda spec: spec.name)
        problems += _duplicates(specs, "id", lambda spec: spec.id)
        if problems:
            raise TaskError("the task suite has problems:\n  " + "\n  ".join(problems))
        return cls(tuple(sorted(specs, key=lambda spec: (spec.id, spec.name))))

    def find(self, name: str) -> TaskSpec:
        """Return the task with this name or id. Raises UsageError that offers the three nearest names."""
        for spec in self.specs:
            if name in (spec.name, spec.id):
                return spec
        raise UsageError(
            f"there is no task {name!r}.", advice=_offer(name, (spec.name for spec in self.specs))
        )

    def filter(
        self,
        *,
        level: int | None = None,
        domain: str | None = None,
        backend: str | None = None,
        family: str | None = None,
        text: str = "",
    ) -> tuple[TaskSpec, ...]:
        """Return the tasks that meet every given condition, in the catalogue's order.

        `text` holds words that must all occur in name, id, title, family, operator class or provenance,
        in any case. Raises UsageError for a level, domain, backend or family that no task could have.
        """
        _known("level", level, LEVELS)
        _known("domain", domain, BACKEND_OF_DOMAIN)
        _known("backend", backend, BACKEND_OF_DOMAIN.values())
        _known("family", family, sorted({spec.family for spec in self.specs}))
        words = text.casefold().split()
        return tuple(
            spec
            for spec in self.specs
            if level in (None, spec.level)
            and (domain is None or domain in spec.domains)
            and (backend is None or backend in spec.backends)
            and family in (None, spec.family)
            and all(word in _searchable(spec) for word in words)
        )


def resolve(name_or_path: str, catalogue: Catalogue) -> TaskSpec:
    """Return the task that an operator named: a path to a plain file, else a name or id of the suite.

    A plain file has `class Model`, `get_inputs()` and `get_init_inputs()`; it becomes a task of level 0 named
    after the file. Raises UsageError when there is no such file or task.
    """
    path = Path(name_or_path).expanduser()
    if path.suffix != ".py":
        return catalogue.find(name_or_path)
    if not path.is_file():
        raise UsageError(
            f"there is no task file {name_or_path!r}.",
            advice="Give the path of a Python file, or a name from `edgelab tasks list`.",
        )
    return TaskSpec(
        name=path.stem,
        id="",
        level=0,
        family="file",
        title=path.stem,
        domains="MEA",
        operator_class="composite",
        provenance=str(path),
        adapted="",
        path=path.absolute(),
    )


def catalogue_root() -> Path:
    """Return the folder of the suite: `tasks` beside the package (a checkout) or inside it (an installation)."""
    package = Path(__file__).parents[1]
    beside = package.parent / "tasks"
    return beside if beside.is_dir() else package / "tasks"


def _searchable(spec: TaskSpec) -> str:
    fields = (spec.name, spec.id, spec.title, spec.family, spec.operator_class, spec.provenance)
    return " ".join(fields).casefold()


def _duplicates(specs: Iterable[TaskSpec], what: str, key: Callable[[TaskSpec], str]) -> list[str]:
    first: dict[str, TaskSpec] = {}
    problems = []
    for spec in specs:
        other = first.setdefault(key(spec), spec)
        if other is not spec:
            here, there = (s.path.with_suffix(".toml") for s in (spec, other))
            problems.append(
                f"{here}: profiles.{spec.name}: {what} {key(spec)} is taken by {other.name} in {there}."
            )
    return problems


def _known(what: str, value: object, known: Iterable[object]) -> None:
    known = list(known)
    if value is not None and value not in known:
        raise UsageError(f"there is no {what} {value!r}.", advice=f"Known: {', '.join(map(str, known))}.")


def _offer(name: str, known: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(name, list(known), n=3, cutoff=0.0)
    if not nearest:
        return "The task suite is empty."
    return f"Nearest: {', '.join(nearest)}. `edgelab tasks list` shows all."
