"""`df -Pk`."""

from __future__ import annotations

import pytest

from edgelab.drivers.readings.disk import Disk, read_df

HEAD = "Filesystem     1024-blocks     Used Available Capacity Mounted on\n"


def test_a_full_disk_has_nothing_to_give():
    assert read_df(f"{HEAD}/dev/mmcblk0p2 30000 30500 -500 102% /\n") == Disk(30000, 0, 102)


def test_a_file_system_without_blocks_has_no_percentage():
    assert read_df(f"{HEAD}overlay 0 0 0 - /data folder\n") == Disk(0, 0, None)


def test_names_with_digits_and_blanks():
    assert read_df(f"{HEAD}10.0.0.2:/srv 4 500 100 400 20% /home/lab\n") == Disk(500, 400, 20)


def test_of_several_the_root_counts_else_the_first():
    rows = "udev 100 0 100 0% /dev\n/dev/nvme0n1p1 900 300 600 34% /\n"
    assert read_df(HEAD + rows) == Disk(900, 600, 34)
    assert read_df(HEAD + rows.splitlines()[0] + "\n") == Disk(100, 100, 0)


@pytest.mark.parametrize(
    "text", ["", HEAD, "df: .: No such file or directory\n", f"{HEAD}/dev/sda1 100 50 5"]
)
def test_without_a_row_nothing_is_known(text: str):
    assert read_df(text) is None
