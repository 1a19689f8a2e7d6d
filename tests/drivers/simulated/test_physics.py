"""What happens on a simulated board by itself: clocks, heat, counters, events, reboots."""

from __future__ import annotations

import itertools
import math
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.drivers.readings.clk_summary import gpu_rate_hz
from edgelab.drivers.readings.trans_stat import read_trans_stat
from edgelab.drivers.simulated import events, faults
from edgelab.drivers.simulated.board_state import BoardState, load, save
from edgelab.drivers.simulated.clocks import Knobs, clock_hz, clock_tree, counted, steps_down, trans_stat
from edgelab.drivers.simulated.faults import COUNTERS, Faults
from edgelab.drivers.simulated.health import aged
from edgelab.drivers.simulated.models import MODELS, model_of
from edgelab.drivers.simulated.physics import reboot, settle
from edgelab.drivers.simulated.tree import create, put
from tests.drivers.simulated.board_tools import run

CAPTURES = Path(__file__).parents[2] / "data/device_texts"
CLOCKS = [clock for profile in MODELS for clock in model_of(profile).clocks]
GPU = "sys/class/devfreq/17000000.gpu"


def earlier(tree: Path, seconds: float) -> None:
    """Let the board believe that it was looked at some seconds ago."""
    state = load(tree)
    save(tree, msgspec.structs.replace(state, settled_s=state.settled_s - seconds))


@given(st.data())
def test_a_clock_is_one_of_its_steps_and_never_above_its_limit(data):
    clock = data.draw(st.sampled_from(CLOCKS))
    hertz = st.integers(0, 4_000_000_000)
    low, high, point = data.draw(hertz), data.draw(hertz), data.draw(hertz)
    knobs = Knobs(data.draw(st.sampled_from(clock.governors)), low, high, point)
    cap_hz = data.draw(st.one_of(st.just(math.inf), hertz))
    found = clock_hz(clock, knobs, busy=data.draw(st.booleans()), cap_hz=cap_hz)
    assert found in clock.steps_hz
    assert found <= max(min(high, cap_hz), clock.steps_hz[0])


@given(st.data())
def test_a_load_never_slows_a_clock(data):
    clock = data.draw(st.sampled_from(CLOCKS))
    low, high, point = (data.draw(st.sampled_from(clock.steps_hz)) for _ in range(3))
    knobs = Knobs(data.draw(st.sampled_from(clock.governors)), low, max(low, high), point)
    assert clock_hz(clock, knobs, busy=True) >= clock_hz(clock, knobs, busy=False)


@given(st.floats(-20, 150), st.floats(0, 30), st.sampled_from(sorted(MODELS)))
def test_more_heat_never_means_less_throttling(celsius, more, profile):
    model = model_of(profile)
    assert steps_down(model, celsius + more) >= steps_down(model, celsius) >= 0
    assert (steps_down(model, celsius) > 0) == (model.trip_c is not None and celsius >= model.trip_c)


@given(st.floats(0, 1e5), st.floats(0, 100), st.floats(0, 20), st.sets(st.sampled_from(COUNTERS)))
def test_counters_and_ticks_never_run_back(passed_s, rate, cores, names):
    state = BoardState(profile="rk3588", version="", boot_s=0.0, boot_id="b", settled_s=100.0)
    fault = Faults(throttles_per_s=rate, busy_cores=cores, throttle_counters=tuple(sorted(names)))
    after = aged(state, fault, model_of("rk3588"), 100.0 + passed_s, gpu_busy=True)
    assert after.busy_ticks >= state.busy_ticks
    assert after.all_ticks - state.all_ticks >= after.busy_ticks - state.busy_ticks - 1e-3
    assert {name for name, count in after.throttles.items() if count > 0} <= names
    assert 0 <= after.heat_c <= 9.0 + 1.5 * min(cores, 8) + 1e-6


@given(st.lists(st.tuples(st.integers(0, 7), st.floats(0, 1000)), max_size=20))
def test_trans_stat_counts_every_change_and_all_the_time(walk):
    model = model_of("rk3588")
    clock, history = model.clocks[0], {}
    for step, passed_s in walk:
        history = counted(history, model, {clock.folder: step}, passed_s)
    if not history:
        return
    mine = history[clock.folder]
    found = read_trans_stat(trans_stat(clock, mine))
    steps = [step for step, _ in walk]
    assert found.current_hz == clock.steps_hz[steps[-1]]
    assert found.transitions == sum(a != b for a, b in itertools.pairwise(steps))
    assert sum(mine.time_ms) == pytest.approx(1e3 * sum(passed for _, passed in walk))


def test_the_clock_tree_is_the_captured_one():
    for busy, name in ((False, "clk_summary_idle"), (True, "clk_summary_load_850")):
        capture = (CAPTURES / f"{name}.txt").read_text().splitlines()
        made = clock_tree(850_000_000, busy).splitlines()
        # The capture begins with devfreq's own word, and has the NPU's row in one of the two.
        expected = [line for line in capture[1:] if "clk_npu" not in line]
        assert [line.split() for line in made] == [line.split() for line in expected]
        assert made[:3] == capture[1:4]


def test_the_real_clock_shows_under_load_alone(rock):
    faults.write(rock, Faults(real_gpu_hz=850_000_000))
    summary = "@/sys/kernel/debug/clk/clk_summary"
    assert gpu_rate_hz(run(rock, f"cat {summary}")) is None
    wait = (
        "until [ -n \"$(ls @/etc/edgelab/busy)\" ] && grep -q ' 850000000 ' "
        + summary
        + "; do sleep 0.02; done"
    )
    loaded = run(
        rock, f"gpu-load 9 & {wait}; cat {summary} @/sys/class/devfreq/fb000000.gpu/cur_freq; kill $!; wait"
    )
    assert gpu_rate_hz(loaded) == 850_000_000
    assert loaded.endswith("1000000000\n")
    assert gpu_rate_hz(run(rock, f"cat {summary}")) is None


def test_a_killed_load_does_not_stay(rock):
    wait = 'until [ -n "$(ls @/etc/edgelab/busy)" ]; do sleep 0.02; done'
    run(rock, f"gpu-load 1 & {wait}; kill -KILL $!")
    assert run(rock, "cat @/sys/class/devfreq/fb000000.gpu/load") == "0@300000000Hz\n"


def test_work_warms_a_board_and_rest_cools_it(rock):
    zone = "@/sys/class/thermal/thermal_zone2/temp"
    at_rest = int(run(rock, f"cat {zone}"))
    faults.write(rock, Faults(busy_cores=4.0, gpu_busy=True))
    earlier(rock, 60)
    warm = int(run(rock, f"cat {zone}"))
    assert warm > at_rest + 10_000
    faults.write(rock, Faults())
    earlier(rock, 600)
    assert int(run(rock, f"cat {zone}")) == pytest.approx(at_rest, abs=50)


def test_a_hot_board_holds_its_clocks_back_and_says_so(rock):
    put(rock, "sys/class/devfreq/fb000000.gpu/governor", "performance\n")
    faults.write(rock, Faults(temperature_c=91.0))
    told = run(
        rock, "cat @/sys/class/devfreq/fb000000.gpu/cur_freq @/sys/class/thermal/cooling_device3/cur_state"
    )
    assert told == "600000000\n4\n"
    faults.write(rock, Faults())
    assert run(rock, "cat @/sys/class/devfreq/fb000000.gpu/cur_freq") == "1000000000\n"


def test_a_reboot_puts_clocks_back_counters_to_nothing_and_keeps_the_mode(orin):
    run(orin, "sudo -n @/usr/sbin/nvpmodel -m 0; sudo -n @/usr/bin/jetson_clocks")
    faults.write(orin, Faults(throttles_per_s=50.0))
    earlier(orin, 10)
    settle(orin)
    before = load(orin)
    assert before.throttles["oc3"] >= 500
    faults.write(orin, Faults())
    events.trigger(orin, "reboot")
    assert settle(orin).events == ("reboot",)
    after = load(orin)
    assert after.boot_id != before.boot_id
    assert after.boot_s > before.boot_s
    assert float((orin / "proc/uptime").read_text().split()[0]) < 60
    assert (orin / "sys/class/hwmon/hwmon4/oc3_event_cnt").read_text() == "0\n"
    assert (orin / f"{GPU}/min_freq").read_text() == "306000000\n"
    assert (orin / f"{GPU}/max_freq").read_text() == "1300500000\n"
    assert settle(orin).events == ()


def test_a_drift_happens_once_after_its_time(orin):
    run(orin, "sudo -n @/usr/sbin/nvpmodel -m 0; sudo -n @/usr/bin/jetson_clocks")
    faults.write(orin, Faults(lock_lost_after_s=3600.0))
    settle(orin)
    assert (orin / f"{GPU}/min_freq").read_text() == "1300500000\n"
    faults.write(orin, Faults(lock_lost_after_s=0.0))
    settle(orin)
    assert (orin / f"{GPU}/min_freq").read_text() == "306000000\n"
    run(orin, "sudo -n @/usr/bin/jetson_clocks")
    settle(orin)
    assert (orin / f"{GPU}/min_freq").read_text() == "1300500000\n"


def test_a_tree_of_another_version_is_made_anew_and_keeps_its_home(rock):
    (rock / "home/lab/runtime").write_text("sent earlier")
    (rock / "bin/sudo").write_text("old")
    save(rock, msgspec.structs.replace(load(rock), version="older"))
    create(rock, "rk3588")
    assert (rock / "home/lab/runtime").read_text() == "sent earlier"
    assert "incorrect password" in (rock / "bin/sudo").read_text()
    boot_id = load(rock).boot_id
    create(rock, "rk3588")
    assert load(rock).boot_id == boot_id


def test_reboot_by_hand_is_a_reboot(rock):
    before = load(rock).boot_id
    reboot(rock)
    assert load(rock).boot_id != before
    assert load(rock).settled_s <= time.time()
