from __future__ import annotations

import pytest

from edgelab.drivers.sudo import sudo_refusal


@pytest.mark.parametrize(
    ("stderr", "refusal"),
    [
        (b"sudo: a password is required\n", "a password is required"),
        (
            b"lab is not in the sudoers file.\nThis incident will be reported.\n",
            "lab is not in the sudoers file",
        ),
        (
            b"Sorry, try again.\nsudo: no password was provided\nsudo: 1 incorrect password attempt\n",
            "1 incorrect password attempt",
        ),
        (b"sh: 1: sudo: not found\n", "sh: 1: sudo: not found"),
        # A board that was renamed says this before every command, and runs it.
        (b"sudo: unable to resolve host jetson: Name or service not known\ntee: x: Invalid argument\n", None),
        (b"sudo: unable to resolve host jetson\nsudo: a password is required\n", "a password is required"),
        (b"tee: /sys/x: Permission denied\n", None),
        (b"\xff\n", None),
        (b"", None),
    ],
)
def test_a_refusal_is_told_from_a_command_that_failed(stderr: bytes, refusal: str | None):
    assert sudo_refusal(stderr) == refusal
