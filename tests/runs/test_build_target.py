"""What programs for a device are built for, and which devices are refused before a run is made."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

import pytest

from edgelab.drivers.profile import load_profile
from edgelab.errors import NotReadyError
from edgelab.kernel.opencl import presence
from edgelab.lab.device import Device
from edgelab.lab.inventory import built_in, this_machine
from edgelab.runs import build_target as module
from edgelab.runs.build_target import build_target


def board(profile: str, backend: str, **fields: object) -> Device:
    return Device(name="board", profile=profile, backend=backend, host="board.lab", **fields)  # type: ignore[arg-type]


def tool(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_each_device_of_the_built_in_lab_can_be_built_for():
    for device in built_in():
        build_target(device, device.backend)


def test_the_cpu_of_this_machine_is_found_when_it_is_built_for():
    assert build_target(this_machine(), "llvm") is None
    assert build_target(board(f"linux-{platform.machine()}", "llvm"), "llvm") is None


def test_opencl_runs_here_within_the_limits_of_a_simulated_board(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(presence, "missing", lambda: None)
    simulated = board("rk3588", "opencl", simulated=True)
    wanted = dict(load_profile("rk3588").target)
    del wanted["host"]
    assert build_target(simulated, "opencl") == wanted
    assert build_target(this_machine(), "opencl") == {"kind": "opencl"}
    assert build_target(simulated, "llvm") is None


def test_opencl_without_a_driver_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(presence, "missing", lambda: "an OpenCL driver")
    with pytest.raises(NotReadyError, match="lacks an OpenCL driver") as refused:
        build_target(this_machine(), "opencl")
    assert "--backend llvm" in refused.value.advice


def test_cuda_is_built_for_the_gpu_that_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tool(tmp_path / "bin", "nvidia-smi", "echo 9.0; echo 8.7")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert build_target(this_machine(), "cuda") == {"kind": "cuda", "arch": "sm_90"}


@pytest.mark.parametrize("script", ["echo No devices were found; exit 6", "echo '[N/A]'", "true"])
def test_a_gpu_that_does_not_tell_what_it_is_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
):
    tool(tmp_path / "bin", "nvidia-smi", script)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(NotReadyError, match="nvidia-smi"):
        build_target(this_machine(), "cuda")


def test_cuda_without_a_gpu_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    with pytest.raises(NotReadyError, match="nvidia-smi was not found"):
        build_target(this_machine(), "cuda")
    with pytest.raises(NotReadyError, match="is simulated"):
        build_target(board("jetson-agx-orin-64gb", "llvm", simulated=True), "cuda")


def test_a_boards_own_target_is_taken_from_its_profile(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module.shutil, "which", lambda name: f"/usr/bin/{name}")
    orin = load_profile("jetson-agx-orin-64gb").target
    assert build_target(board("jetson-agx-orin-64gb", "cuda"), "cuda") == orin
    assert build_target(board("jetson-agx-orin-64gb", "cuda"), "llvm") == orin["host"]
    rockchip = load_profile("rk3588").target
    assert build_target(board("rk3588", "opencl"), "opencl") == rockchip
    phone = load_profile("snapdragon-8-gen-3").target
    assert build_target(board("snapdragon-8-gen-3", "llvm"), "llvm") == phone


@pytest.mark.parametrize(
    ("profile", "backend", "tool"), [("snapdragon-8-gen-3", "llvm", "gcc"), ("rk3588", "opencl", "g++")]
)
def test_a_board_is_refused_without_the_compiler_for_it(
    monkeypatch: pytest.MonkeyPatch, profile: str, backend: str, tool: str
):
    monkeypatch.setattr(
        module.shutil, "which", lambda name: None if name.endswith(tool) else f"/usr/bin/{name}"
    )
    with pytest.raises(NotReadyError, match=rf"need aarch64-linux-gnu-{re.escape(tool)}") as refused:
        build_target(board(profile, backend), backend)
    assert f"apt install {tool}-aarch64-linux-gnu" in refused.value.advice


@pytest.mark.parametrize(
    ("profile", "backend", "said"),
    [
        ("linux-aarch64" if platform.machine() == "x86_64" else "linux-x86_64", "llvm", "another processor"),
        ("snapdragon-8-gen-3", "cuda", "has no target for that"),
    ],
)
def test_other_boards_are_refused_before_a_run_is_made(profile: str, backend: str, said: str):
    with pytest.raises(NotReadyError, match=said) as refused:
        build_target(board(profile, backend), backend)
    assert "devices check" in refused.value.advice
