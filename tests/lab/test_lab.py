"""Inventory, profiles and the state of this machine."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from edgelab.drivers.profile import load_profile, profiles_folder
from edgelab.errors import UsageError
from edgelab.kernel.opencl import presence
from edgelab.lab import inventory
from edgelab.lab.host import HostSampler


def test_built_in_lab_is_this_machine_and_simulated_boards():
    local, *simulated = inventory.built_in()
    assert [device.name for device in simulated] == ["sim-orin", "sim-rk3588", "sim-phone"]
    assert all(device.simulated for device in simulated)
    by_opencl = "opencl" if presence.missing() is None else "llvm"
    assert [device.backend for device in simulated] == ["llvm", by_opencl, "llvm"]
    assert (local.name, local.backend, local.simulated) == ("local", "llvm", False)


def test_unknown_device_offers_the_nearest():
    with pytest.raises(UsageError, match=r"no device 'locl'.*Nearest: local"):
        inventory.find("locl", inventory.built_in())


@pytest.mark.parametrize("path", sorted(profiles_folder().glob("*.toml")), ids=lambda path: path.stem)
def test_every_profile_is_valid(path):
    profile = load_profile(path.stem)
    assert profile.title
    assert profile.backend in ("llvm", "cuda", "opencl")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("title = 1\nbackend = 'llvm'", "title"),
        ("titel = 'x'", "titel|title"),
        ("title = \nx = 1", "line 1"),
        ("", "title"),
    ],
)
def test_wrong_profile_is_named_with_its_fault(tmp_path, text, what):
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(UsageError, match=rf"x\.toml is wrong: .*({what})"):
        load_profile("x", tmp_path)


def test_absent_profile_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"no device profile 'y'.*y\.toml"):
        load_profile("y", tmp_path)


def a_machine(root: Path, *, clocks: dict[str, str], cpuinfo: str = "") -> HostSampler:
    for cpu, clock in clocks.items():
        folder = root / cpu / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(clock)
    (root / "cpuinfo").write_text(cpuinfo)
    return HostSampler(root, cpu=root, cpuinfo=root / "cpuinfo")


def test_clock_is_the_fastest_cores(tmp_path):
    state = a_machine(
        tmp_path, clocks={"cpu0": "1200000\n", "cpu1": "2400000\n", "cpu10": "800000\n"}
    ).sample()
    assert state.cpu_freq_hz == 2.4e9
    assert state.cpu_freq_source == "cpufreq/scaling_cur_freq"


def test_virtual_machine_falls_back_to_cpuinfo_and_says_so(tmp_path):
    text = "processor : 0\nmodel name : A CPU\ncpu MHz : 2596.140\n\nprocessor : 1\ncpu MHz : 2600.5\n"
    state = a_machine(tmp_path, clocks={}, cpuinfo=text).sample()
    assert state.cpu_freq_hz == pytest.approx(2.6005e9)
    assert state.cpu_freq_source.endswith("cpuinfo")
    assert state.cpu_model == "A CPU"


@pytest.mark.parametrize("clock", ["", "<unsupported>\n", "-5\n"])
def test_clock_that_cannot_be_read_is_unknown_not_zero(tmp_path, clock):
    state = a_machine(tmp_path, clocks={"cpu0": clock}).sample()
    assert state.cpu_freq_hz is None
    assert state.cpu_freq_max_hz is None
    assert state.governor is None


def test_this_machine_can_be_read(tmp_path):
    before = time.time()
    state = HostSampler(tmp_path / "not" / "there").sample()
    assert state.sampled_s >= before
    assert state.cores
    assert state.memory_total_bytes
    assert state.memory_total_bytes >= state.memory_available_bytes > 0
    assert state.disk_total_bytes >= state.disk_free_bytes


def test_the_first_load_is_unknown_not_zero(tmp_path):
    sampler = HostSampler(tmp_path)
    assert sampler.sample().cpu_percent is None
    assert sampler.sample().cpu_percent is None
