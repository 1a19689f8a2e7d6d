"""nvpmodel: the power mode in force, the modes there are, and how a change went."""

from __future__ import annotations

import re

import msgspec

from edgelab.drivers.readings.node_lines import whole

_MODE = re.compile(r"NV Power Mode: *([^\r\n]*?)\s*$", re.MULTILINE)
_LISTED = re.compile(r"POWER_MODEL:? ID=([0-9]{1,6}) NAME=(\S+)")
_PARAM = re.compile(r"PARAM (\w+): ARG (\w+): PATH \S+ REAL_VAL: (-?[0-9]{1,15}) CONF_VAL: (-?[0-9]{1,15})")
_EACCES = 13


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

    `changed` is None when there was no second query and nothing says that the change was not carried out.
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
        warnings=len(re.findall(r"^NVPM WARN", text, re.MULTILINE)),
        permission_limited=any(number == _EACCES for number in _errnos(text)),
        gpu_min_hz=params.get(("GPU", "MIN_FREQ"), (None, None))[0],
        gpu_max_hz=gpu_max,
        gpu_conf_hz=conf,
        tpc_pg_mask=params.get(("TPC_POWER_GATING", "TPC_PG_MASK"), (None, None))[0],
        modes=_listed(text),
    )


def read_nvpmodel_change(text: str) -> NvpmodelChange:
    """Read what a change of the power mode printed, with the queries before and after it where there are any."""
    errors = tuple(line.strip() for line in re.findall(r"^NVPM ERROR:(.*)$", text, re.MULTILINE))
    asked = re.search(r"nvpmodel -m ([0-9]{1,6})", text)
    required = re.search(r"[Rr]eboot required for changing to this power mode: ([0-9]{1,6})", text)
    head, _, tail = text.partition(asked[0]) if asked else ("", "", text)
    before, after = _queried(head), _queried(tail)
    target = (asked or required or [None, None])[1]
    errnos = _errnos(text)
    was, number_was = before[-1] if before else (None, None)
    now, number_now = after[-1] if after else (None, None)
    carried_out = not any("optMask" in error for error in errors)
    return NvpmodelChange(
        before=was,
        before_id=number_was,
        after=now,
        after_id=number_now,
        target_id=int(target) if target is not None else None,
        reboot_required=required is not None,
        rebooting=re.search(r"^NVPM WARN: rebooting", text, re.MULTILINE) is not None,
        failed=any("failed to" in error or "Error writing" in error for error in errors),
        errno=errnos[0] if errnos else None,
        changed=(now != was if now is not None else None) if carried_out else False,
        errors=errors,
    )


def read_nvpmodel_conf(text: str) -> NvpmodelConf:
    """Read /etc/nvpmodel.conf or the listing of `nvpmodel -p --verbose`."""
    modes = _listed(text)
    default = re.search(r"PM_CONFIG:? DEFAULT=(?:([^\s()]+)\()?([0-9]{1,6})\)?", text)
    gpu_max: dict[int, int] = {}
    tpc_mask: dict[int, int] = {}
    for section in re.split(r"(?=POWER_MODEL:? ID=)", text):
        if not (head := _LISTED.match(section)):
            continue
        if found := re.search(r"GPU MAX_FREQ (-?[0-9]{1,15})", section):
            gpu_max[int(head[1])] = int(found[1])
        if found := re.search(r"TPC_PG_MASK ([0-9]{1,15})", section):
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
    """Return the modes that queries named, each with the number in the line after it."""
    found = []
    for match in _MODE.finditer(text):
        following = text[match.end() :].lstrip("\r").removeprefix("\n").partition("\n")[0]
        if match[1]:
            found.append((match[1], whole(following)))
    return found


def _listed(text: str) -> dict[int, str]:
    return {int(number): name for number, name in _LISTED.findall(text)}


def _errnos(text: str) -> list[int]:
    """Return the error numbers at the ends of lines that say what could not be opened, read or written."""
    return [
        int(found) for found in re.findall(r"^NVPM ERROR: Error .*: ([0-9]{1,4})\s*$", text, re.MULTILINE)
    ]
