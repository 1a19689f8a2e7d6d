"""/etc/nv_tegra_release: the release of Linux for Tegra, and the JetPack it belongs to."""

from __future__ import annotations

import re

import msgspec

JETPACK_OF = {
    "39.2.1": "7.2.1",
    "39.2.0": "7.2",
    "38.4.0": "7.1",
    "36.5.0": "6.2.2",
    "36.4.7": "6.2.1",
    "36.4.4": "6.2.1",
    "36.4.3": "6.2",
    "36.4.0": "6.1",
    "36.3.0": "6.0",
    "35.6.0": "5.1.4",
    "35.5.0": "5.1.3",
    "35.4.1": "5.1.2",
    "35.3.1": "5.1.1",
    "35.2.1": "5.1",
    "35.1.0": "5.0.2",
    "32.7.4": "4.6.4",
    "32.7.3": "4.6.3",
    "32.7.2": "4.6.2",
    "32.7.1": "4.6.1",
    "32.6.1": "4.6",
    "32.5.1": "4.5.1",
    "32.4.4": "4.4.1",
}
"""JetPack by release (jetson_stats, jtop/core/jetson_variables.py)."""


_FIRST_LINE = re.compile(
    r"# R([0-9]{1,4}) \(release\), REVISION: ([0-9]{1,4}(?:\.[0-9]{1,4}){0,3})(?=,|\s|$)"
)


class L4tRelease(msgspec.Struct, frozen=True):
    """`l4t` such as 36.4.3; `jetpack` is None for a release that is not in the table."""

    l4t: str | None = None
    jetpack: str | None = None


def read_l4t_release(text: str) -> L4tRelease:
    """Read the first line, `# R36 (release), REVISION: 4.3, ...`."""
    found = _FIRST_LINE.search(text)
    if not found:
        return L4tRelease()
    release = f"{found[1]}.{found[2]}"
    return L4tRelease(release, JETPACK_OF.get(release))
