"""Which devices runs can be built for: the processor of this machine, and nothing else yet."""

from __future__ import annotations

import platform

import pytest

from edgelab.errors import NotReadyError
from edgelab.lab.device import Device
from edgelab.lab.inventory import built_in
from edgelab.runs.launch import check_buildable


def test_the_built_in_lab_is_buildable():
    for device in built_in():
        check_buildable(device)


def test_a_machine_like_this_one_is_buildable():
    check_buildable(Device(name="x", profile=f"linux-{platform.machine()}", backend="llvm", host="x.lab"))


@pytest.mark.parametrize(
    ("profile", "backend", "said"),
    [
        ("jetson-agx-orin-64gb", "cuda", "needs programs for cuda"),
        ("rk3588", "opencl", "needs programs for opencl"),
        ("snapdragon-8-gen-3", "llvm", "another processor"),
    ],
)
def test_other_boards_are_refused_before_a_run_is_made(profile: str, backend: str, said: str):
    with pytest.raises(NotReadyError, match=said) as refused:
        check_buildable(Device(name="board", profile=profile, backend=backend, host="board.lab"))
    assert "devices check" in refused.value.advice
