"""Simulated boards: clocks follow their governors, tools speak the real formats, one server serves a folder."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgelab.drivers.readings.clk_summary import gpu_rate_hz
from edgelab.drivers.readings.disk import read_df
from edgelab.drivers.readings.jetson_clocks import read_jetson_clocks
from edgelab.drivers.readings.nvpmodel import read_nvpmodel_change, read_nvpmodel_query
from edgelab.drivers.readings.tegrastats import read_tegrastats
from edgelab.drivers.readings.thermalservice import read_thermalservice
from edgelab.drivers.simulated import faults, launcher
from edgelab.drivers.simulated.environment import HOME, environment
from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.simulated.models import MODELS
from edgelab.drivers.simulated.physics import current_hz, reboot, settle
from edgelab.drivers.simulated.tree import create, load, put


@pytest.fixture
def orin(tmp_path):
    create(tmp_path / "orin", "jetson-agx-orin-64gb")
    settle(tmp_path / "orin")
    return tmp_path / "orin"


def run(tree, line: str, given: str = "") -> str:
    done = subprocess.run(
        ["/bin/sh", "-c", line.replace("@", str(tree))],
        input=given, capture_output=True, text=True, cwd=tree / HOME, env=environment(tree), timeout=20,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_tools_of_the_jetson_speak_the_real_formats(orin):
    assert read_nvpmodel_query(run(orin, "@/usr/sbin/nvpmodel -q")).mode == "MODE_50W"
    assert "as a root user" in run(orin, "@/usr/bin/jetson_clocks --show")
    shown = read_jetson_clocks(run(orin, "sudo -n @/usr/bin/jetson_clocks --show"))
    assert (shown.locked, shown.cpu_online, shown.tpc, shown.mode) == (False, 12, 8, "MODE_50W")
    run(orin, "sudo -n @/usr/sbin/nvpmodel -m 0; sudo -n @/usr/bin/jetson_clocks")
    settle(orin)
    assert read_jetson_clocks(run(orin, "sudo -n @/usr/bin/jetson_clocks --show")).session_ok
    assert read_tegrastats(run(orin, "@/usr/bin/tegrastats")).ram == (9050, 62841)
    assert read_df(run(orin, "df -Pk .")).available_kb == 40_000_000


def test_a_reboot_is_asked_for_and_no_means_no(orin):
    faults.write(orin, Faults(reboot_prompt=True))
    settle(orin)
    change = read_nvpmodel_change(run(orin, "sudo -n @/usr/sbin/nvpmodel -m 0", "NO\n"))
    assert (change.reboot_required, change.rebooting, change.changed) == (True, False, False)
    before = load(orin).boot_id
    assert read_nvpmodel_change(run(orin, "sudo -n @/usr/sbin/nvpmodel -m 0", "YES\n")).rebooting
    settle(orin)
    assert load(orin).boot_id != before
    assert read_nvpmodel_query(run(orin, "@/usr/sbin/nvpmodel -q")).mode == "MAXN"


def test_a_knob_of_sysfs_refuses_what_a_kernel_refuses(orin):
    node = "@/sys/class/devfreq/17000000.gpu"
    assert "Permission denied" in run(orin, f"echo performance | tee {node}/governor")
    assert "Invalid argument" in run(orin, f"echo nonsense | sudo -n tee {node}/governor")
    assert "Invalid argument" in run(orin, f"echo x | sudo -n tee {node}/min_freq")
    assert "Invalid argument" in run(orin, f"echo 306000000 | sudo -n tee {node}/userspace/set_freq")
    assert "performance" in run(orin, f"echo performance | sudo -n tee {node}/governor")


def test_the_real_clock_shows_under_load_alone(tmp_path):
    tree = tmp_path / "rock"
    create(tree, "rk3588")
    faults.write(tree, Faults(real_gpu_hz=850_000_000))
    settle(tree)
    summary = tree / "sys/kernel/debug/clk/clk_summary"
    assert gpu_rate_hz(summary.read_text()) is None
    loaded = run(tree, "gpu-load 5 & sleep 1; cat @/sys/kernel/debug/clk/clk_summary; kill $!; wait")
    assert gpu_rate_hz(loaded) == 850_000_000


def test_the_phone_tells_its_heat_through_its_service(tmp_path):
    create(tmp_path / "phone", "snapdragon-8-gen-3")
    faults.write(tmp_path / "phone", Faults(temperature_c=46.0))
    settle(tmp_path / "phone")
    assert (
        read_thermalservice(run(tmp_path / "phone", "@/system/bin/dumpsys thermalservice")).verdict
        == "throttled"
    )


def test_a_reboot_puts_clocks_back_and_counters_to_nothing(orin):
    put(orin, "sys/class/devfreq/17000000.gpu/governor", "performance\n")
    before = load(orin)
    reboot(orin)
    after = load(orin)
    assert after.boot_id != before.boot_id
    assert after.boot_s > before.boot_s
    assert (orin / "sys/class/devfreq/17000000.gpu/governor").read_text() == "nvhost_podgov\n"


@settings(max_examples=60)
@given(st.data())
def test_a_clock_is_always_one_of_its_steps_and_never_above_its_limit(tmp_path_factory, data):
    tree = tmp_path_factory.mktemp("board")
    model = MODELS["rk3588"]()
    clock = data.draw(st.sampled_from(model.clocks))
    prefix = "scaling_" if clock.kind == "cpu" else ""
    low, high = data.draw(st.sampled_from(clock.steps_hz)), data.draw(st.sampled_from(clock.steps_hz))
    put(tree, f"{clock.folder}/{prefix}governor", data.draw(st.sampled_from(clock.governors)) + "\n")
    put(tree, f"{clock.folder}/{prefix}min_freq", f"{low // clock.unit_hz}\n")
    put(tree, f"{clock.folder}/{prefix}max_freq", f"{high // clock.unit_hz}\n")
    put(tree, f"{clock.folder}/userspace/set_freq", f"{data.draw(st.sampled_from(clock.steps_hz))}\n")
    found = current_hz(tree, clock, busy=data.draw(st.booleans()))
    assert found in clock.steps_hz
    assert found <= high


@pytest.mark.integration
def test_several_starters_get_one_server(tmp_path):
    code = (
        "import sys; from pathlib import Path; from edgelab.drivers.simulated.launcher import ensure_running\n"
        "print(ensure_running(Path(sys.argv[1]), sys.argv[2], 'rk3588').port)"
    )
    starters = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name], stdout=subprocess.PIPE, text=True)
        for name in ("one", "two", "one")
    ]
    ports = [starter.communicate(timeout=30)[0].strip() for starter in starters]
    assert all(ports)
    assert ports[0] == ports[2] != ports[1]
    assert launcher.is_running(tmp_path)
    launcher.stop(tmp_path)
    assert not launcher.is_running(tmp_path)
