"""Tools of the simulated boards speak the formats of the real ones, by EdgeLab's own readers and real captures."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgelab.drivers.readings.battery import read_battery
from edgelab.drivers.readings.disk import read_df
from edgelab.drivers.readings.jetson_clocks import read_jetson_clocks
from edgelab.drivers.readings.l4t_release import read_l4t_release
from edgelab.drivers.readings.nvpmodel import (
    read_nvpmodel_change,
    read_nvpmodel_conf,
    read_nvpmodel_query,
)
from edgelab.drivers.readings.tegrastats import read_tegrastats
from edgelab.drivers.readings.thermalservice import read_thermalservice
from edgelab.drivers.simulated import faults
from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.simulated.physics import settle
from edgelab.drivers.simulated.tree import create, load
from tests.drivers.simulated.board_tools import run

CAPTURES = Path(__file__).parents[2] / "data/device_texts"
GPU = "@/sys/class/devfreq/17000000.gpu"
ROCK_GPU = "@/sys/class/devfreq/fb000000.gpu"


def test_nvpmodel_tells_its_mode_and_what_it_may_not_read(orin):
    asked = read_nvpmodel_query(run(orin, "@/usr/sbin/nvpmodel -q"))
    assert (asked.mode, asked.id, asked.permission_limited) == ("MODE_50W", 3, True)
    assert not read_nvpmodel_query(run(orin, "sudo -n @/usr/sbin/nvpmodel -q")).permission_limited
    verbose = read_nvpmodel_query(run(orin, "@/usr/sbin/nvpmodel -q --verbose"))
    assert (verbose.mode, verbose.gpu_min_hz, verbose.gpu_max_hz) == ("MODE_50W", 306_000_000, 816_000_000)
    assert (verbose.gpu_conf_hz, verbose.tpc_pg_mask) == (816_000_000, 0)
    listed = read_nvpmodel_conf(run(orin, "@/usr/sbin/nvpmodel -p --verbose"))
    conf = read_nvpmodel_conf((orin / "etc/nvpmodel.conf").read_text())
    assert listed == conf
    assert (conf.modes[0], conf.default, conf.tpc_mask[1]) == ("MAXN", "MODE_30W", 248)
    assert read_l4t_release((orin / "etc/nv_tegra_release").read_text()).l4t == "36.4.3"


def test_jetson_clocks_locks_what_it_shows_and_restores_what_it_stored(orin):
    refused = run(orin, "@/usr/bin/jetson_clocks --show")
    assert refused.splitlines()[1] == "Error: Run this script(/usr/bin/jetson_clocks) as a root user"
    shown = run(orin, "sudo -n @/usr/bin/jetson_clocks --show")
    found = read_jetson_clocks(shown)
    assert (found.locked, found.cpu_online, found.tpc, found.mode) == (False, 12, 8, "MODE_50W")
    capture = (CAPTURES / "jetson_clocks_jp6_maxn_unlocked.txt").read_text()
    # Row by row the same words; what differs is numbers and the fan's hwmon.
    words = [line.split("=")[0].split(" ")[0] for line in shown.splitlines()]
    assert words == [line.split("=")[0].split(" ")[0] for line in capture.splitlines()]
    run(orin, "sudo -n @/usr/bin/jetson_clocks --store kept; sudo -n @/usr/sbin/nvpmodel -m 0")
    run(orin, "sudo -n @/usr/bin/jetson_clocks")
    assert read_jetson_clocks(run(orin, "sudo -n @/usr/bin/jetson_clocks --show")).session_ok
    run(orin, "sudo -n @/usr/bin/jetson_clocks --restore kept; sudo -n @/usr/sbin/nvpmodel -m 3")
    assert run(orin, "sudo -n @/usr/bin/jetson_clocks --show") == shown


def test_a_mode_with_other_gpu_units_wants_a_reboot_and_no_means_no(orin):
    assert run(orin, "sudo -n @/usr/sbin/nvpmodel -m 0") == ""
    change = read_nvpmodel_change(run(orin, "sudo -n @/usr/sbin/nvpmodel -m 1", "NO\n"))
    assert (change.reboot_required, change.rebooting, change.changed) == (True, False, False)
    before = load(orin).boot_id
    assert read_nvpmodel_change(run(orin, "sudo -n @/usr/sbin/nvpmodel -m 1", "YES\n")).rebooting
    found = read_jetson_clocks(run(orin, "sudo -n @/usr/bin/jetson_clocks --show"))
    assert (found.mode, found.tpc, found.gpu_hz) == ("MODE_15W", 3, (306_000_000, 408_000_000, 306_000_000))
    assert load(orin).boot_id != before


def test_a_failed_change_says_what_the_real_one_says(orin):
    faults.write(orin, Faults(mode_write_failed=True))
    told = run(orin, "sudo -n @/usr/sbin/nvpmodel -m 0")
    capture = (CAPTURES / "nvpmodel_m_write_failed.txt").read_text()
    assert told.replace("2147483647", "918000000") == capture
    assert read_nvpmodel_query(run(orin, "@/usr/sbin/nvpmodel -q")).mode == "MODE_50W"


@pytest.mark.parametrize("root", [False, True])
def test_tegrastats_shows_clocks_to_root_alone(orin, root):
    line = "@/usr/bin/tegrastats --interval 100"
    told = run(orin, f"{'sudo -n ' if root else ''}timeout 0.3 {line}")
    found = read_tegrastats(told)
    assert (found.ram, found.gpu_util, found.cpu_off) == ((9050, 62841), 0, 0)
    assert (found.gpu_mhz, found.temp_tj) == (306 if root else None, 46.2)
    assert found.rails["VDD_GPU_SOC"] == 4015
    assert ("EMC_FREQ" in told) == root


def test_a_knob_of_sysfs_refuses_what_a_kernel_refuses(orin):
    capture = (CAPTURES / "error_tee_governor_einval.txt").read_text()
    node = str(orin / "sys/class/devfreq/17000000.gpu/governor")
    told = run(orin, f"echo dmc | sudo -n tee {GPU}/governor").replace("dmc", "userspace")
    assert told == capture.replace("/sys/class/devfreq/fb000000.gpu/governor", node)
    assert "Permission denied" in run(orin, f"echo performance | tee {GPU}/governor")
    assert "Permission denied" in run(orin, f"echo 1 | sudo -n tee {GPU}/cur_freq")
    assert "Permission denied" in run(orin, f"echo 1 | sudo -n tee {GPU}/no_such_node")
    assert "Invalid argument" in run(orin, f"echo x | sudo -n tee {GPU}/min_freq")
    assert "Invalid argument" in run(orin, f"echo 306000000 | sudo -n tee {GPU}/userspace/set_freq")
    assert run(orin, f"echo performance | sudo -n tee {GPU}/governor") == "performance\n"
    assert run(orin, f"cat {GPU}/governor {GPU}/cur_freq") == "performance\n816000000\n"


def test_limits_are_requests_in_whole_khz(rock):
    run(
        rock,
        f"echo 400000999 | sudo -n tee {ROCK_GPU}/min_freq; echo 500000000 | sudo -n tee {ROCK_GPU}/max_freq",
    )
    assert run(rock, f"cat {ROCK_GPU}/min_freq {ROCK_GPU}/max_freq") == "400000000\n500000000\n"
    # No request at all; and a lower limit above the upper one is no error.
    run(rock, f"echo 0 | sudo -n tee {ROCK_GPU}/max_freq; echo 0 | sudo -n tee {ROCK_GPU}/min_freq")
    assert run(rock, f"cat {ROCK_GPU}/min_freq {ROCK_GPU}/max_freq") == "300000000\n1000000000\n"
    policy = "@/sys/devices/system/cpu/cpufreq/policy4"
    run(rock, f"echo 9999999 | sudo -n tee {policy}/scaling_max_freq")
    assert run(rock, f"cat {policy}/scaling_max_freq") == "2352000\n"


def test_the_memorys_governor_crashes_a_gpu(rock):
    before = load(rock).boot_id
    run(rock, "echo dmc_ondemand | sudo -n tee @/sys/class/devfreq/dmc/governor")
    settle(rock)
    assert load(rock).boot_id == before
    run(rock, f"echo dmc_ondemand | sudo -n tee {ROCK_GPU}/governor")
    settle(rock)
    assert load(rock).boot_id != before


@pytest.mark.parametrize(
    ("flags", "given", "ends"),
    [
        ("-S -p ''", "right\n", "ran"),
        ("-S -p ''", "wrong\nright\n", "ran"),
        ("-S -p ''", "wrong\n", "sudo: 1 incorrect password attempt"),
        ("-S -p ''", "a\nb\nc\nright\n", "sudo: 3 incorrect password attempts"),
        ("-S -p ''", "", "sudo: a password is required"),
        ("-n", "right\n", "sudo: a password is required"),
    ],
)
def test_sudo_wants_its_password_and_passes_the_rest_on(rock, flags, given, ends):
    faults.write(rock, Faults(sudo="password:right"))
    assert run(rock, f"{{ sudo {flags} echo ran; }} 2>&1", given).strip().endswith(ends)
    assert run(rock, "sudo -S -p '' cat", "right\nrest\n") == "rest\n"


def test_the_phone_answers_as_android_does(tmp_path):
    create(tmp_path / "phone", "snapdragon-8-gen-3")
    heat = read_thermalservice(run(tmp_path / "phone", "@/system/bin/dumpsys thermalservice"))
    assert (heat.verdict, heat.hal_ready, heat.skin_c, heat.battery_c) == ("ok", True, 33.0, 31.0)
    charge = read_battery(run(tmp_path / "phone", "@/system/bin/dumpsys battery"))
    assert (charge.percent, charge.charging) == (82.0, False)
    assert "Can't find service" in run(tmp_path / "phone", "@/system/bin/dumpsys nothing")
    assert run(tmp_path / "phone", "@/system/bin/getprop ro.soc.model") == "SM8650\n"
    assert not (tmp_path / "phone/proc/stat").exists()


def test_df_speaks_in_the_format_of_posix(rock):
    head, row = run(rock, "df -Pk .").splitlines()
    assert head == (CAPTURES / "df_pk.txt").read_text().splitlines()[0]
    disk = read_df(f"{head}\n{row}\n")
    assert (disk.total_kb, disk.available_kb, row.split()[4]) == (61_255_492, 40_000_000, "35%")
