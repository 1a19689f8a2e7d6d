"""/etc/nv_tegra_release."""

from __future__ import annotations

import pytest

from edgelab.drivers.readings.l4t_release import L4tRelease, read_l4t_release


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# R39 (release), REVISION: 2.0, GCID: 1, BOARD: generic", L4tRelease("39.2.0", "7.2")),
        ("# R32 (release), REVISION: 7.1, GCID: 1, BOARD: t186ref\r\n", L4tRelease("32.7.1", "4.6.1")),
        ("# R36 (release), REVISION: 4.9, GCID: 1", L4tRelease("36.4.9", None)),
        ("# R36 (release), REVISION: 5.0.1\n", L4tRelease("36.5.0.1", None)),
        ("# R36 (release), REVISION: ", L4tRelease()),
        ("cat: /etc/nv_tegra_release: No such file or directory\n", L4tRelease()),
        ("", L4tRelease()),
    ],
)
def test_the_release_and_its_jetpack(text: str, wanted: L4tRelease):
    assert read_l4t_release(text) == wanted
