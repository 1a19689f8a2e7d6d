"""One template of the suite: a PyTorch module beside a TOML file that names its shape profiles."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from edgelab.bench.task_source import Constant, check_constant, constants_of, read_source, with_constants
from edgelab.errors import TaskError

OperatorClass = Literal["injective", "reduction", "depthwise", "conv", "dense", "composite"]
"""Search-complexity class: tuning budgets are calibrated for each of the six."""

Check = Literal["V", "C", "U"]
"""How the shape was confirmed: V executed and traced, C derived from a file that was read, U not confirmed."""

BACKEND_OF_DOMAIN = {"M": "llvm", "E": "cuda", "A": "opencl"}
"""Mobile & personal intelligence, embodied robotics, smart AIoT; each is evaluated on one backend."""


class TaskSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One task: a module, the constants of its shape profile, and where both come from.

    `level` is 0 for a plain file that is not part of the suite.
    """

    name: str
    id: str
    level: int
    family: str
    title: str
    domains: str
    operator_class: OperatorClass
    provenance: str
    adapted: str
    path: Path
    constants: dict[str, Constant] = {}
    check: Check = "U"

    @property
    def backends(self) -> tuple[str, ...]:
        """Backends on which the task counts, in the order of its domains."""
        return tuple(BACKEND_OF_DOMAIN[domain] for domain in self.domains)

    @property
    def digest(self) -> str:
        """SHA-256 in hexadecimal of name, file text and constants. Raises TaskError as `source` does."""
        return digest_of(self.name, self.source())

    def source(self) -> str:
        """Return the module's text with the profile's constants in place. Raises TaskError if unreadable."""
        return with_constants(read_source(self.path), self.constants, self.path)


def digest_of(name: str, source: str) -> str:
    """SHA-256 in hexadecimal that identifies a task by its name and its text with constants in place."""
    return hashlib.sha256(f"{name}\0{source}".encode()).hexdigest()


class _Template(msgspec.Struct, forbid_unknown_fields=True):
    title: str
    family: str
    operator_class: OperatorClass
    provenance: str = ""
    adapted: str = ""


class _Profile(msgspec.Struct, forbid_unknown_fields=True):
    id: Annotated[str, msgspec.Meta(pattern=r"^L[123]-\d{3}$")]
    domains: Annotated[str, msgspec.Meta(pattern=r"^M?E?A?$", min_length=1)]
    check: Check
    constants: dict[str, Constant] = {}
    title: str = ""
    operator_class: OperatorClass | None = None
    provenance: str = ""
    adapted: str = ""


_ProfileName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]


def read_template(description: Path, level: int) -> list[TaskSpec]:
    """Return the tasks of one TOML file; the module is the `.py` of the same name beside it.

    What a profile says (title, operator class, provenance, adapted) stands before what the file says.
    Raises TaskError that names the file and the key.
    """
    tables = _parse(description)
    profiles = tables.pop("profiles", None)
    if not isinstance(profiles, dict) or not profiles:
        raise TaskError(f"{description}: profiles: at least one [profiles.NAME] table is needed.")
    template = _convert(tables, _Template, description, "")
    if template.family != description.parent.name:
        raise TaskError(
            f"{description}: family: {template.family!r} lies in the folder of {description.parent.name!r}."
        )
    module = description.with_suffix(".py")
    known = constants_of(read_source(module), module)
    specs = []
    for name, table in profiles.items():
        key = f"profiles.{name}"
        _convert(name, _ProfileName, description, key)
        spec = _spec(name, _convert(table, _Profile, description, key), template, module, level)
        _check_profile(spec, description, key)
        for constant, value in spec.constants.items():
            try:
                check_constant(constant, value, known, module)
            except TaskError as error:
                raise TaskError(f"{description}: {key}.constants.{constant}: {error.message}") from error
        specs.append(spec)
    return specs


def _parse(description: Path) -> dict:
    try:
        return tomllib.loads(read_source(description))
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{description}: not valid TOML: {error}.") from error


def _convert(value: object, kind: Any, description: Path, key: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        where = f"{key}{place.rstrip('`')}".lstrip(".")
        raise TaskError(f"{description}: {where + ': ' if where else ''}{reason}.") from error


def _spec(name: str, profile: _Profile, template: _Template, module: Path, level: int) -> TaskSpec:
    return TaskSpec(
        name=name,
        id=profile.id,
        level=level,
        family=template.family,
        title=profile.title or template.title,
        domains=profile.domains,
        operator_class=profile.operator_class or template.operator_class,
        provenance=profile.provenance or template.provenance,
        adapted=profile.adapted or template.adapted,
        path=module,
        constants=profile.constants,
        check=profile.check,
    )


def _check_profile(spec: TaskSpec, description: Path, key: str) -> None:
    if not spec.id.startswith(f"L{spec.level}-"):
        raise TaskError(f"{description}: {key}.id: {spec.id} is not of level {spec.level}.")
    if not spec.provenance:
        raise TaskError(f"{description}: {key}.provenance: say where shape and structure were read.")
