"""Clusters of CPUs: which are fast, and what is unknown when one is."""

from __future__ import annotations

from edgelab.drivers.readings.cpu_table import CpuTable, mask_of, read_cpu_table

ROOT = "/sys/devices/system/cpu/cpufreq/policy"


def table(*clusters: tuple[int, str, str | None]) -> CpuTable:
    nodes = {}
    for policy, cpus, highest_khz in clusters:
        nodes[f"{ROOT}{policy}/related_cpus"] = f"{cpus}\n"
        if highest_khz is not None:
            nodes[f"{ROOT}{policy}/cpuinfo_max_freq"] = f"{highest_khz}\n"
    return read_cpu_table(nodes)


def test_snapdragon_8_gen_3_is_not_in_order_of_speed():
    found = table((7, "7", "3302400"), (5, "5 6", "2956800"), (2, "2 3 4", "3148800"), (0, "0 1", "2265600"))
    assert (found.policies, found.prime, found.big_cpus) == ([0, 2, 5, 7], 7, [2, 3, 4, 5, 6, 7])
    assert mask_of(found.big_cpus) == "fc"


def test_the_fastest_may_come_first():
    found = table((0, "1 0", "3000000"), (4, "4 5", "2000000"))
    assert (found.prime, found.big_cpus) == (1, [0, 1])


def test_where_all_are_alike_all_are_big():
    assert table((0, "0 1", "2000000")).big_cpus == [0, 1]
    assert table((0, "0", "2000000"), (1, "1", "2000000")).big_cpus == [0, 1]


def test_a_cluster_of_unknown_speed_may_be_the_fastest_or_the_slowest():
    found = table((0, "0 1", "2000000"), (4, "4 5", None))
    assert (found.policies, found.prime, found.big_cpus) == ([0, 4], None, [])


def test_boost_and_what_is_no_list_of_cpus_are_no_policies():
    nodes = {
        "/sys/devices/system/cpu/cpufreq/boost": "1",
        f"{ROOT}0/related_cpus": "none",
        f"{ROOT}x/related_cpus": "1",
    }
    assert read_cpu_table(nodes) == CpuTable()
    assert (CpuTable().prime, CpuTable().big_cpus) == (None, [])


def test_masks_are_hexadecimal():
    assert [mask_of(cpus) for cpus in ([7], [4, 5, 6, 7], [0], [])] == ["80", "f0", "1", "0"]
