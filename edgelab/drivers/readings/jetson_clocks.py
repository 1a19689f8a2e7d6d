"""`jetson_clocks --show`: limits and rates of GPU, memory and CPUs, fan and power mode."""

from __future__ import annotations

import re

import msgspec

_ROW = re.compile(r"MinFreq=([0-9]{1,15}) MaxFreq=([0-9]{1,15}) CurrentFreq=([0-9]{1,15})")
_CPU = re.compile(r"^cpu([0-9]{1,4}):\s*(?:Online=([01]))?(.*)$", re.MULTILINE)
_OFFLINE = re.compile(r"Offline CPUs: *([0-9,-]+)")
_FAN = re.compile(r"^(?:FAN|Fan)[^\r\n]*?(?:pwm[0-9]*|PWM|speed)=([0-9]{1,5})\s*$", re.MULTILINE)
_CONTROL = re.compile(r"speed control=(\S+)", re.IGNORECASE)

SESSION_GPU_HZ = 1_290_000_000
"""AGX Orin 64 GB runs its GPU at 1300.5 MHz; rounding of the tables stays above this."""

SESSION_UNITS = 8

Rate = tuple[int, int, int]
"""Lower limit, upper limit and present rate, in Hz."""


class JetsonClocks(msgspec.Struct, frozen=True, kw_only=True):
    """What jetson_clocks shows. `cpus_held` says whether every online CPU has one rate alone; None unknown.

    `emc_override` is None where the row has no such word (JetPack 7). `tpc` is how many GPU units run.
    """

    gpu_hz: Rate | None = None
    emc_hz: Rate | None = None
    emc_override: int | None = None
    cpu_online: int = 0
    cpu_offline: int = 0
    cpus_held: bool | None = None
    tpc: int | None = None
    fan_pwm: int | None = None
    fan_control: str | None = None
    mode: str | None = None

    @property
    def locked(self) -> bool | None:
        """Whether GPU, memory and every online CPU are held at one rate; None when not all were shown."""
        if self.gpu_hz is None or self.emc_hz is None or self.cpus_held is None:
            return None
        emc = self.emc_override == 1 if self.emc_override is not None else self.emc_hz[0] == self.emc_hz[1]
        return len(set(self.gpu_hz)) == 1 and self.cpus_held and emc

    @property
    def session_ok(self) -> bool | None:
        """Whether an AGX Orin 64 GB is fit for a session: locked, in a MAXN mode, all units at full rate."""
        if self.locked is None or self.gpu_hz is None or self.mode is None:
            return None
        full = self.gpu_hz[2] >= SESSION_GPU_HZ and self.tpc == SESSION_UNITS
        return self.locked and self.mode.startswith("MAXN") and full


def read_jetson_clocks(text: str) -> JetsonClocks:
    """Read `jetson_clocks --show`. Rows of offline CPUs do not count; their order means nothing."""
    rows = [(online != "0", _rate(rest)) for _, online, rest in _CPU.findall(text)]
    online = [rate for on, rate in rows if on]
    gpu, emc = _line(text, "GPU"), _line(text, "EMC")
    override = re.search(r"^EMC .*FreqOverride=([0-9])", text, re.MULTILINE)
    units = re.search(r"Active GPU TPCs: *([0-9]{1,4})", text)
    fan, control = _FAN.search(text), _CONTROL.search(text)
    mode = re.search(r"NV Power Mode: *(\S+)", text)
    named = _OFFLINE.search(text)
    offline = sum(1 for on, _ in rows if not on) or (_count(named[1]) if named else 0)
    return JetsonClocks(
        gpu_hz=gpu,
        emc_hz=emc,
        emc_override=int(override[1]) if override else None,
        cpu_online=len(online),
        cpu_offline=offline,
        cpus_held=all(rate is not None and rate[0] == rate[1] for rate in online) if online else None,
        tpc=int(units[1]) if units else None,
        fan_pwm=int(fan[1]) if fan else None,
        fan_control=control[1] if control else None,
        mode=mode[1] if mode else None,
    )


def _line(text: str, name: str) -> Rate | None:
    found = re.search(rf"^{name} (.*)$", text, re.MULTILINE)
    return _rate(found[1]) if found else None


def _rate(text: str) -> Rate | None:
    found = _ROW.search(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def _count(listed: str) -> int:
    """Return how many CPUs a list such as `4-7,9` names."""
    count = 0
    for part in listed.split(","):
        first, dash, last = part.partition("-")
        if first.isdecimal() and (not dash or last.isdecimal()):
            count += max(0, int(last) - int(first) + 1) if dash else 1
    return count
