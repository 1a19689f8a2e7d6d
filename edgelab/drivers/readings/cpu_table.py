"""Clusters of a CPU by cpufreq: which cores are fast. A policy's number says nothing about its speed."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from edgelab.drivers.readings.node_lines import whole

_POLICY = re.compile(r".*/policy([0-9]{1,4})/related_cpus")


class Cluster(msgspec.Struct, frozen=True):
    """One policy: its cores and their highest clock in kHz."""

    policy: int
    cpus: tuple[int, ...]
    highest_khz: int | None


class CpuTable(msgspec.Struct, frozen=True):
    """All clusters by policy number."""

    clusters: tuple[Cluster, ...] = ()

    @property
    def policies(self) -> list[int]:
        """Numbers of the policies."""
        return [cluster.policy for cluster in self.clusters]

    @property
    def prime(self) -> int | None:
        """The last core of the fastest cluster."""
        known = [cluster for cluster in self.clusters if cluster.highest_khz is not None and cluster.cpus]
        fastest = max(known, key=lambda cluster: cluster.highest_khz or 0, default=None)
        return None if fastest is None else fastest.cpus[-1]

    @property
    def big_cpus(self) -> list[int]:
        """All cores but those of the slowest cluster; all of them where there is one cluster alone."""
        speeds = {cluster.highest_khz for cluster in self.clusters if cluster.highest_khz is not None}
        slowest = min(speeds, default=None) if len(speeds) > 1 else None
        return sorted(
            cpu
            for cluster in self.clusters
            if cluster.highest_khz != slowest or slowest is None
            for cpu in cluster.cpus
        )


def read_cpu_table(nodes: Mapping[str, str]) -> CpuTable:
    """Read the clusters from nodes by path; the folder `boost` is no policy."""
    clusters = []
    for path, value in nodes.items():
        if found := _POLICY.fullmatch(path):
            cores = tuple(int(cpu) for cpu in value.split() if cpu.isdecimal() and len(cpu) < 5)
            folder = path.rpartition("/")[0]
            clusters.append(Cluster(int(found[1]), cores, whole(nodes.get(f"{folder}/cpuinfo_max_freq"))))
    return CpuTable(tuple(sorted(clusters, key=lambda cluster: cluster.policy)))


def mask_of(cpus: list[int]) -> str:
    """Return the mask of cores as toybox' taskset wants it: hexadecimal without 0x."""
    return f"{sum(1 << cpu for cpu in cpus):x}"
