"""Why a tool failed, as each tool words it."""

from __future__ import annotations

import pytest

from edgelab.drivers.readings.tool_errors import read_tool_error
from tests.drivers.readings.captures import EXPECTED, text_of


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "sudo: a terminal is required to read the password; either use -S\nsudo: a password is required",
            "sudo_password",
        ),
        ("sudo: no tty present and no askpass program specified", "sudo_password"),
        (
            "Sorry, try again.\nsudo: no password was provided\nsudo: 1 incorrect password attempt",
            "sudo_password",
        ),
        ("sudo: sorry, you must have a tty to run sudo", "sudo_password"),
        ("lab is not in the sudoers file.  This incident will be reported.", "not_sudoer"),
        ("Sorry, user lab is not allowed to execute '/usr/bin/tee' as root on agx.", "not_sudoer"),
        ("Sorry, user lab may not run sudo on agx.", "not_sudoer"),
        ("Error: Failed to max GPU frequency!", "gpu_max_failed"),
        (
            "/usr/bin/jetson_clocks: line 316: echo: write error: Invalid argument\nError: Failed to max GPU frequency!",
            "gpu_max_failed",
        ),
        ("tee: /sys/x: Permission denied", "permission_denied"),
        ("taskset: failed to set pid 1's affinity: Operation not permitted", "permission_denied"),
        ("sh: write error: Invalid argument", "invalid_argument"),
        ("tee: /sys/x: No such file or directory", None),
        ("userspace\n", None),
        ("", None),
    ],
)
def test_the_reason(text: str, wanted: str | None):
    assert read_tool_error(text) == wanted


def test_nvpmodel_that_cannot_write_the_gpu_s_limit():
    assert read_tool_error(text_of("nvpmodel_m_write_failed.txt")) == "gpu_max_failed"


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, entry in EXPECTED.items()
        if entry["kind"] not in ("error", "cpu_table") and name != "nvpmodel_m_write_failed.txt"
    ],
)
def test_an_answer_is_no_error(name: str):
    assert read_tool_error(text_of(name)) is None
