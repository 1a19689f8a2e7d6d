"""nvpmodel: the power mode in force, the modes there are, and how a change went."""

from __future__ import annotations

import re
from itertools import islice

import msgspec

from edgelab.drivers.readings.node_lines import whole

_MODE = re.compile(r"NV Power Mode: *([^\r\n]*)")
_LISTED = re.compile(r"POWER_MODEL:? ID=([0-9]{1,6}) NAME=([^\s>]+)")
_DEFAULT = re.compile(r"PM_CONFIG:? DEFAULT=(?:([^\s()>]{1,99})\()?([0-9]{1,6})\)?(?=[\s>]|$)")
_PARAM = re.compile(r"PARAM (\w+): ARG (\w+): PATH \S+ REAL_VAL: (-?[0-9]{1,15}) CONF_VAL: (-?[0-9]{1,15})")
_ASKED = re.compile(r"nvpmodel -m ([0-9]{1,6})")
_REBOOT = re.compile(r"[Rr]eboot required for changing to this power mode: ([0-9]{1,6})")
_PROMPT = re.compile(r"^\S{0,99}[$#] ", re.MULTILINE)
_FAILURE = re.compile(r"failed to (?:set|write)|Error writing")
_ERROR = "NVPM ERROR:"
_EACCES = 13
_LINES_BETWEEN = 16


class NvpmodelQuery(msgspec.Struct, frozen=True, kw_only=True):
    """`nvpmodel -q`. `warnings` counts its WARN lines; `permission_limited` says that some value needs root.

    With `--verbose` also the GPU's limits in Hz as they are and as the mode wants them (`gpu_conf_hz`), and
    the mask of units that are off. `modes` is there when a listing of the conf follows.
    """

    mode: str | None = None
    id: int | None = None
    warnings: int = 0
    permission_limited: bool = False
    gpu_min_hz: int | None = None
    gpu_max_hz: int | None = None
    gpu_conf_hz: int | None = None
    tpc_pg_mask: int | None = None
    modes: dict[int, str] = {}


class NvpmodelChange(msgspec.Struct, frozen=True, kw_only=True):
    """What `nvpmodel -m` and the queries around it printed. Success prints nothing: only `after` proves it.

    `changed` is None when there were not two queries to compare and nothing says that the change was not
    carried out. `errno` is the first error number of a change that failed.
    """

    before: str | None = None
    before_id: int | None = None
    after: str | None = None
    after_id: int | None = None
    target_id: int | None = None
    reboot_required: bool = False
    rebooting: bool = False
    failed: bool = False
    errno: int | None = None
    changed: bool | None = None
    errors: tuple[str, ...] = ()


class NvpmodelConf(msgspec.Struct, frozen=True, kw_only=True):
    """/etc/nvpmodel.conf, or `nvpmodel -p`: modes by number; ids have gaps and 0 need not be the fastest.

    `gpu_max` is the GPU's cap in Hz by mode (-1: none), `tpc_mask` the mask of units that are off.
    """

    modes: dict[int, str] = {}
    default: str | None = None
    default_id: int | None = None
    gpu_max: dict[int, int] = {}
    tpc_mask: dict[int, int] = {}


class NvpmodelStatus(msgspec.Struct, frozen=True):
    """/var/lib/nvpmodel/status: the mode's number, and the fan's mode where it is named."""

    id: int | None = None
    fmode: str | None = None


def read_nvpmodel_query(text: str) -> NvpmodelQuery:
    """Read `nvpmodel -q`; other lines may come before the answer and errors after it."""
    modes = _queried(text)
    mode, number = modes[0] if modes else (None, None)
    params = {(name, arg): (int(real), int(conf)) for name, arg, real, conf in _PARAM.findall(text)}
    gpu_max, conf = params.get(("GPU", "MAX_FREQ"), (None, None))
    return NvpmodelQuery(
        mode=mode,
        id=number,
        warnings=sum(line.startswith("NVPM WARN") for line in text.split("\n")),
        permission_limited=_EACCES in map(_errno, _errors(text)),
        gpu_min_hz=params.get(("GPU", "MIN_FREQ"), (None, None))[0],
        gpu_max_hz=gpu_max,
        gpu_conf_hz=conf,
        tpc_pg_mask=next((real for (_, arg), (real, _) in params.items() if arg == "TPC_PG_MASK"), None),
        modes=_listed(text),
    )


def read_nvpmodel_change(text: str) -> NvpmodelChange:
    """Read what a change of the power mode printed, with the queries before and after it where there are any."""
    asked, reboot = _ASKED.search(text), _REBOOT.search(text)
    head, _, tail = text.partition(asked[0]) if asked else ("", "", text)
    errors = _errors(_PROMPT.split(tail, maxsplit=1)[0])
    was, was_id = (_queried(head) or [(None, None)])[-1]
    now, now_id = (_queried(tail) or [(None, None)])[-1]
    target = asked or reboot
    refused = any("optMask" in error or "bad input" in error for error in errors)
    # A change that nobody was asked about and that was not carried out has failed.
    failed = any(map(_FAILURE.search, errors)) or (refused and reboot is None)
    numbers = [number for number in map(_errno, errors) if number is not None]
    return NvpmodelChange(
        before=was,
        before_id=was_id,
        after=now,
        after_id=now_id,
        target_id=int(target[1]) if target else None,
        reboot_required=reboot is not None,
        rebooting=any(line.startswith("NVPM WARN: rebooting") for line in text.split("\n")),
        failed=failed,
        errno=numbers[0] if failed and numbers else None,
        changed=False if refused else None if was is None or now is None else now != was,
        errors=errors,
    )


def read_nvpmodel_conf(text: str) -> NvpmodelConf:
    """Read /etc/nvpmodel.conf or the listing of `nvpmodel -p --verbose`; comments say nothing."""
    text = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))
    modes, default = _listed(text), _DEFAULT.search(text)
    gpu_max: dict[int, int] = {}
    tpc_mask: dict[int, int] = {}
    for section in re.split(r"(?=POWER_MODEL:? ID=)", text):
        if not (head := _LISTED.match(section)):
            continue
        if found := re.search(r"\bGPU MAX_FREQ (-?[0-9]{1,15})\b", section):
            gpu_max[int(head[1])] = int(found[1])
        if found := re.search(r"\bTPC_PG_MASK ([0-9]{1,15})\b", section):
            tpc_mask[int(head[1])] = int(found[1])
    number = int(default[2]) if default else None
    name = (default[1] if default else None) or (modes.get(number) if number is not None else None)
    return NvpmodelConf(modes=modes, default=name, default_id=number, gpu_max=gpu_max, tpc_mask=tpc_mask)


def read_nvpmodel_status(text: str) -> NvpmodelStatus:
    """Read the status file. Its number has leading zeros and is decimal all the same."""
    mode = re.search(r"pmode:([0-9]{1,6})\b", text)
    fan = re.search(r"fmode:(\S+)", text)
    return NvpmodelStatus(int(mode[1]) if mode else None, fan[1] if fan else None)


def _queried(text: str) -> list[tuple[str, int | None]]:
    """Return the modes that queries named, each with the number in the line after it.

    Warnings and errors go to another stream than the answer and may come between its two lines.
    """
    lines = text.split("\n")
    found = []
    for index, line in enumerate(lines):
        match = _MODE.search(line)
        if match and (name := match[1].strip()):
            following = islice(lines, index + 1, index + 1 + _LINES_BETWEEN)
            number = next((whole(line) for line in following if not line.startswith("NVPM ")), None)
            found.append((name, number))
    return found


def _listed(text: str) -> dict[int, str]:
    return {int(number): name for number, name in _LISTED.findall(text)}


def _errors(text: str) -> tuple[str, ...]:
    return tuple(line.removeprefix(_ERROR).strip() for line in text.split("\n") if line.startswith(_ERROR))


def _errno(error: str) -> int | None:
    """Return the error number at the end of an error; what follows `VAL` is a value."""
    head, _, number = error.rpartition(": ")
    return int(number) if re.fullmatch(r"[0-9]{1,4}", number) and not head.endswith(" VAL") else None
