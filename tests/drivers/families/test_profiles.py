"""The shipped profiles: each is read, drives its family, and asks for nothing that its own numbers contradict."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgelab.drivers.families.registry import family_for
from edgelab.drivers.profile import Profile, load_profile, profiles_folder
from edgelab.errors import UsageError

NAMES = sorted(path.stem for path in profiles_folder().glob("*.toml"))
CHECKS = {
    "reachable", "identity", "board_clock", "sudo", "power_mode", "gpu_clock", "cpu_clock", "memory_clock", "real_clock",
    "gpu_units", "throttling", "temperature", "load", "memory", "disk", "battery", "lease", "runtime",
}  # fmt: skip


@pytest.fixture(params=NAMES)
def profile(request: pytest.FixtureRequest) -> Profile:
    return load_profile(request.param)


def test_the_profiles_of_the_lab_are_there() -> None:
    wanted = {
        "jetson-agx-orin-64gb",
        "jetson-orin-nano",
        "rk3588",
        "snapdragon-8-gen-3",
        "linux-x86_64",
        "linux-aarch64",
    }
    assert wanted <= set(NAMES)


def test_a_profile_drives_its_family(profile: Profile) -> None:
    family = family_for(profile)

    assert family.name == profile.family
    assert family.request().commands
    assert set(profile.required) <= CHECKS
    assert profile.hardware_text.strip()


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("linux-")])
def test_boards_have_a_target_and_peaks_for_their_backend(name: str) -> None:
    # Those of a machine are found when it is read.
    profile = load_profile(name)
    assert profile.target["kind"] == profile.backend
    assert profile.peaks.compute_gflops
    assert profile.peaks.bandwidth_gb_s


def test_what_is_locked_is_asked_for(profile: Profile) -> None:
    clocks = profile.clocks
    if clocks.lock:
        assert clocks.gpu_hz
        assert "sudo" in profile.required
        assert "gpu_clock" in profile.required
    else:
        assert clocks.gpu_hz is None


def test_every_source_of_a_profile_is_named(profile: Profile) -> None:
    texts = [
        path.read_text() for path in profiles_folder().glob("*.toml") if load_profile(path.stem) == profile
    ]
    (text,) = texts
    assert "not measured here" in text or "No number here was measured" in text or profile.family == "linux"


def test_an_unknown_key_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_text('title = "x"\nbackend = "llvm"\n[clocks]\ngpu_mhz = 3\n')

    with pytest.raises(UsageError, match=r"odd\.toml is wrong.*gpu_mhz"):
        load_profile("odd", tmp_path)
