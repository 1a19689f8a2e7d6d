"""The GPU's devfreq node: which one it is, and when it is held at its highest point."""

from __future__ import annotations

import pytest

from edgelab.drivers.readings.devfreq import Devfreq, read_devfreq

FOLDER = "/sys/class/devfreq/fb000000.gpu"
HELD = {
    f"{FOLDER}/available_frequencies": "300000000 1000000000 \n",
    f"{FOLDER}/cur_freq": "1000000000\n",
    f"{FOLDER}/governor": "performance\n",
}


def held(**nodes: str | None) -> Devfreq:
    """Return the node with some of its files replaced, or gone."""
    changed = HELD | {f"{FOLDER}/{name}": value or "" for name, value in nodes.items()}
    gone = {f"{FOLDER}/{name}" for name, value in nodes.items() if value is None}
    return read_devfreq({path: value for path, value in changed.items() if path not in gone})


@pytest.mark.parametrize(
    ("folder", "node"),
    [
        ("/sys/class/devfreq/fb000000.gpu-panthor", "fb000000.gpu-panthor"),
        ("/sys/devices/platform/fb000000.gpu/devfreq/fb000000.gpu", "fb000000.gpu"),
        ("/sys/devices/platform/17000000.gpu/devfreq_dev", "17000000.gpu"),
        ("/sys/devices/17000000.ga10b/devfreq/17000000.ga10b", "17000000.ga10b"),
        ("/sys/class/devfreq/gpu-gpc-0", "gpu-gpc-0"),
        ("/sys/class/devfreq/dmc", None),
        ("/sys/class/devfreq/fdab0000.npu", None),
        ("/sys/class/devfreq/soc:qcom,gpubw", None),
    ],
)
def test_the_node_of_the_gpu(folder: str, node: str | None):
    assert read_devfreq({f"{folder}/cur_freq": "1"}).node == node


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        ({}, True),
        ({"governor": "userspace"}, True),
        ({"governor": "simple_ondemand"}, False),
        ({"governor": "simple_ondemand", "min_freq": "1000000000", "max_freq": "1000000000"}, True),
        ({"governor": "simple_ondemand", "min_freq": "300000000", "max_freq": "1000000000"}, False),
        # Limits of 0 are no limits.
        ({"governor": "simple_ondemand", "min_freq": "0", "max_freq": "0"}, False),
        ({"cur_freq": "300000000"}, False),
        ({"cur_freq": None}, None),
        ({"cur_freq": "\n"}, None),
        ({"available_frequencies": None}, None),
        ({"governor": None}, None),
        ({"governor": None, "min_freq": "1000000000", "max_freq": "1000000000"}, True),
        ({"governor": None, "cur_freq": "300000000"}, False),
    ],
)
def test_held_at_the_highest_point(nodes: dict[str, str | None], wanted: bool | None):
    assert held(**nodes).locked_max is wanted


def test_a_clock_that_was_refused_leaves_the_rest():
    found = held(cur_freq=None)
    assert (found.node, found.cur_hz, found.max_hz) == ("fb000000.gpu", None, 1000000000)


def test_without_a_list_of_governors_nobody_knows_which_there_are():
    assert held().has_userspace is None
    assert held(available_governors="powersave performance").has_userspace is False


def test_steps_that_are_no_numbers_are_left_out():
    assert held(available_frequencies="900000000 x 300000000 300000000").freqs == (300000000, 900000000)
    assert read_devfreq({}) == Devfreq()
