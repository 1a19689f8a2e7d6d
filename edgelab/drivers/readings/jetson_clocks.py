"""`jetson_clocks --show`: limits and rates of GPU, memory and CPUs, fan and power mode."""

from __future__ import annotations

import re

import msgspec

from edgelab.drivers.readings.node_lines import all_known

_ROW = re.compile(r"MinFreq=([0-9]{1,15}) MaxFreq=([0-9]{1,15}) CurrentFreq=([0-9]{1,15})")
_CPU = re.compile(r"^cpu[0-9]{1,4}:[ \t]*(?:Online=([01])\b)?(.*)$", re.MULTILINE)
_OFFLINE = re.compile(r"Offline CPUs: *([0-9,-]{1,999})")
_RANGE = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")
_FAN = re.compile(r"^(?:FAN|Fan)[^\r\n]*?(?:pwm[0-9]{0,2}|PWM|speed)=([0-9]{1,5})[ \t\r]*$", re.MULTILINE)
_CONTROL = re.compile(r"speed control=(\S+)", re.IGNORECASE)
_GPU = r"GPU|gpu-gpc-0"
"""Thor's row bears the name of its devfreq node."""

SESSION_GPU_HZ = 1_290_000_000
"""AGX Orin 64 GB runs its GPU at 1300.5 MHz; rounding of the tables stays above this."""

SESSION_UNITS = 8

Rate = tuple[int, int, int]
"""Lower limit, upper limit and present rate, in Hz."""


class JetsonClocks(msgspec.Struct, frozen=True, kw_only=True):
    """What jetson_clocks shows; `cpus_held` says whether every online CPU has one rate alone.

    `emc_override` is None where the row has no such word (JetPack 7). `tpc` is how many GPU units run.
    `fan_pwm` is the fan's duty, 255 at most. Numbers of CPUs are None where no CPU was shown.
    """

    gpu_hz: Rate | None = None
    emc_hz: Rate | None = None
    emc_override: int | None = None
    cpu_online: int | None = None
    cpu_offline: int | None = None
    cpus_held: bool | None = None
    tpc: int | None = None
    fan_pwm: int | None = None
    fan_control: str | None = None
    mode: str | None = None

    @property
    def locked(self) -> bool | None:
        """Whether GPU, memory and every online CPU are held at one rate; None when what was shown cannot tell."""
        gpu = None if self.gpu_hz is None else len(set(self.gpu_hz)) == 1
        if self.emc_override is not None:
            emc = self.emc_override == 1
        else:
            emc = None if self.emc_hz is None else self.emc_hz[0] == self.emc_hz[1]
        return all_known(gpu, self.cpus_held, emc)

    @property
    def session_ok(self) -> bool | None:
        """Whether an AGX Orin 64 GB is fit for a session: locked, in a MAXN mode, all units at full rate.

        JetPack 5 does not show the units: None there, when all else is right.
        """
        return all_known(
            self.locked,
            None if self.mode is None else self.mode.startswith("MAXN"),
            None if self.gpu_hz is None else self.gpu_hz[2] >= SESSION_GPU_HZ,
            None if self.tpc is None else self.tpc == SESSION_UNITS,
        )


def read_jetson_clocks(text: str) -> JetsonClocks:
    """Read `jetson_clocks --show`. Rows of offline CPUs do not count; their order means nothing."""
    rows = [(online != "0", _rate(rest)) for online, rest in _CPU.findall(text)]
    online = [rate for on, rate in rows if on]
    override = re.search(r"^EMC [^\r\n]*FreqOverride=([0-9])", text, re.MULTILINE)
    units = re.search(r"Active GPU TPCs: *([0-9]{1,4})\b", text)
    fan, control = _FAN.search(text), _CONTROL.search(text)
    mode = re.search(r"NV Power Mode: *(\S+)", text)
    named = _OFFLINE.search(text)
    offline = len(rows) - len(online) or (_count(named[1]) if named else 0)
    held = [None if rate is None else rate[0] == rate[1] for rate in online]
    return JetsonClocks(
        gpu_hz=_line(text, _GPU),
        emc_hz=_line(text, "EMC"),
        emc_override=int(override[1]) if override else None,
        cpu_online=len(online) if rows else None,
        cpu_offline=offline if rows else None,
        cpus_held=all_known(*held) if held else None,
        tpc=int(units[1]) if units else None,
        fan_pwm=int(fan[1]) if fan else None,
        fan_control=control[1] if control else None,
        mode=mode[1] if mode else None,
    )


def _line(text: str, names: str) -> Rate | None:
    found = re.search(rf"^(?:{names}) (.*)$", text, re.MULTILINE)
    return _rate(found[1]) if found else None


def _rate(text: str) -> Rate | None:
    found = _ROW.search(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def _count(listed: str) -> int:
    """Return how many CPUs a list such as `4-7,9` names."""
    count = 0
    for part in listed.split(","):
        if found := _RANGE.fullmatch(part):
            count += max(0, int(found[2] or found[1]) - int(found[1]) + 1)
    return count
