"""The GPU's devfreq node: its operating points, governors, limits and present clock."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from edgelab.drivers.readings.node_lines import whole

_GPU_NAME = re.compile(r"[^/]{0,99}\.(?:gpu(?:-[a-z0-9-]{1,30})?|gv11b|gp10b|ga10b|gb10b|gm20b)|gpu-gpc-0")
"""RK3588's names, and those of Jetsons by JetPack (jetson_stats, jtop/core/gpu.py)."""

_JETPACK6_FOLDER = "devfreq_dev"


class Devfreq(msgspec.Struct, frozen=True, kw_only=True):
    """The GPU's node, None where there is none. Frequencies in Hz, `freqs` ascending, empty where not listed.

    `low_hz` and `high_hz` are the limits in force; 0 says that nobody asked for one.
    """

    node: str | None = None
    freqs: tuple[int, ...] = ()
    governor: str | None = None
    governors: tuple[str, ...] = ()
    cur_hz: int | None = None
    low_hz: int | None = None
    high_hz: int | None = None

    @property
    def max_hz(self) -> int | None:
        """The highest operating point."""
        return max(self.freqs, default=None)

    @property
    def has_userspace(self) -> bool | None:
        """Whether the governor `userspace`, which holds one clock, is there; None without a list."""
        return "userspace" in self.governors if self.governors else None

    @property
    def locked_max(self) -> bool | None:
        """Whether the GPU is held at its highest point: a cap keeps `performance` below it.

        None where the present clock or the table is not known, or what would hold the clock is not.
        """
        if self.cur_hz is None or self.max_hz is None:
            return None
        if self.cur_hz != self.max_hz:
            return False
        one_limit = self.low_hz is not None and 0 < self.low_hz == self.high_hz
        if self.governor in ("performance", "userspace") or one_limit:
            return True
        return None if self.governor is None else False


def read_devfreq(nodes: Mapping[str, str]) -> Devfreq:
    """Return the node of the GPU (`*.gpu*`, also `-panthor`) among those of memory and NPU."""
    folder = _gpu_folder(nodes)
    if folder is None:
        return Devfreq()

    def text(name: str) -> str | None:
        return nodes.get(f"{folder}/{name}")

    steps = (whole(step) for step in (text("available_frequencies") or "").split())
    return Devfreq(
        node=folder.removesuffix(f"/{_JETPACK6_FOLDER}").rpartition("/")[2],
        freqs=tuple(sorted({step for step in steps if step is not None})),
        governor=(text("governor") or "").strip() or None,
        governors=tuple((text("available_governors") or "").split()),
        cur_hz=whole(text("cur_freq")),
        low_hz=whole(text("min_freq")),
        high_hz=whole(text("max_freq")),
    )


def _gpu_folder(nodes: Mapping[str, str]) -> str | None:
    """Return the GPU's folder: one that shows its clock, else one of a devfreq whose clock was refused."""
    found = set()
    for path in nodes:
        folder, _, name = path.rpartition("/")
        above, _, last = folder.rpartition("/")
        named = above.rpartition("/")[2] if last == _JETPACK6_FOLDER else last
        if _GPU_NAME.fullmatch(named) and (name == "cur_freq" or above.endswith("/devfreq")):
            found.add((name != "cur_freq", folder))
    return min(found)[1] if found else None
