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
    "36.3.0": "6.0",
    "35.6.0": "5.1.4",
    "35.4.1": "5.1.2",
}
"""JetPack by release (jetson_stats, jtop/core/jetson_variables.py)."""


class L4tRelease(msgspec.Struct, frozen=True):
    """`l4t` such as 36.4.3; `jetpack` is None for a release that is not in the table."""

    l4t: str | None = None
    jetpack: str | None = None


def read_l4t_release(text: str) -> L4tRelease:
    """Read the first line, `# R36 (release), REVISION: 4.3, ...`."""
    found = re.search(r"# R([0-9]{1,4}) \(release\), REVISION: ([0-9]{1,4}(?:\.[0-9]{1,4})*)", text)
    if not found:
        return L4tRelease()
    release = f"{found[1]}.{found[2]}"
    return L4tRelease(release, JETPACK_OF.get(release))
