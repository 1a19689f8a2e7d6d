"""Over-current counters: which there are, and what grew."""

from __future__ import annotations

from edgelab.drivers.readings.overcurrent import Growth, growth, read_overcurrent, read_overcurrent_pair

NODE = "/sys/class/hwmon/hwmon4/oc"


def test_only_counters_that_can_be_read_are_there():
    nodes = {
        f"{NODE}1_event_cnt": "0\n",
        f"{NODE}2_event_cnt": "",
        f"{NODE}3_event_cnt": "-1",
        f"{NODE}1_throt_en": "1",
    }
    assert read_overcurrent(nodes) == {"oc1": 0}


def test_growth_of_a_counter_that_one_look_lacks_is_unknown():
    assert growth({"oc1": 1, "oc2": 5}, {"oc1": 4}, 10.0, 12.5) == Growth(2.5, {"oc1": 3, "oc2": None}, False)


def test_a_counter_that_went_down_is_a_reboot_though_the_uptime_is_higher():
    assert growth({"oc1": 9, "oc3": 1}, {"oc1": 2, "oc3": 7}, 40.0, 400.0) == Growth(
        None, {"oc1": None, "oc3": None}, True
    )


def test_an_uptime_that_went_down_is_a_reboot_though_all_counters_grew():
    assert growth({"oc1": 0}, {"oc1": 0}, 400.0, 40.0).rebooted is True


def test_without_uptimes_a_reboot_cannot_be_excluded():
    assert growth({"oc1": 1}, {"oc1": 2}, None, 9.0) == Growth(None, {"oc1": 1}, None)


def test_fewer_than_two_samples_say_nothing():
    for text in ("", "@ 12.5\n", f"@ 12.5\n{NODE}1_event_cnt:4\n", f"{NODE}1_event_cnt:4\n@ 12.5\n"):
        assert read_overcurrent_pair(text) == Growth(None, {}, None)


def test_a_counter_that_was_refused_in_one_sample():
    text = f"@ 1.1\n{NODE}1_event_cnt:4\n@ 3.4\ngrep: {NODE}1_event_cnt: Permission denied\n"
    assert read_overcurrent_pair(text) == Growth(2.3, {"oc1": None}, False)
