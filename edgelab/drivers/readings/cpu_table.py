"""Clusters of a CPU by cpufreq: which cores are fast. A policy's number says nothing about its speed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from edgelab.drivers.readings.node_lines import whole

_POLICY = re.compile(r".*/policy([0-9]{1,4})/related_cpus", re.DOTALL)


class Cluster(msgspec.Struct, frozen=True):
    """One policy: its cores in ascending order and their highest clock in kHz."""

    policy: int
    cpus: tuple[int, ...]
    highest_khz: int | None


class CpuTable(msgspec.Struct, frozen=True):
    """All clusters by policy number; empty where nothing could be read."""

    clusters: tuple[Cluster, ...] = ()

    @property
    def policies(self) -> list[int]:
        """Numbers of the policies."""
        return [cluster.policy for cluster in self.clusters]

    @property
    def prime(self) -> int | None:
        """The last core of the fastest cluster; None when some cluster's speed is not known."""
        fastest = max(self._speeds() or [], default=None)
        return next((c.cpus[-1] for c in self.clusters if fastest and c.highest_khz == fastest), None)

    @property
    def big_cpus(self) -> list[int]:
        """All cores but those of the slowest cluster; all of them where all are alike.

        Empty when some cluster's speed is not known: it may be the slowest.
        """
        speeds = self._speeds()
        if speeds is None:
            return []
        slowest = min(speeds) if len(speeds) > 1 else None
        return sorted(cpu for c in self.clusters if c.highest_khz != slowest for cpu in c.cpus)

    def _speeds(self) -> set[int] | None:
        speeds = {cluster.highest_khz for cluster in self.clusters}
        known = {speed for speed in speeds if speed is not None}
        return known if known and known == speeds else None


def read_cpu_table(nodes: Mapping[str, str]) -> CpuTable:
    """Read the clusters from nodes by path (`related_cpus`, `cpuinfo_max_freq`); `boost` is no policy."""
    clusters = []
    for path, value in nodes.items():
        cpus = {int(cpu) for cpu in value.split() if re.fullmatch("[0-9]{1,4}", cpu)}
        if cpus and (found := _POLICY.fullmatch(path)):
            highest_khz = whole(nodes.get(f"{path.rpartition('/')[0]}/cpuinfo_max_freq"))
            clusters.append(Cluster(int(found[1]), tuple(sorted(cpus)), highest_khz))
    return CpuTable(tuple(sorted(clusters, key=lambda cluster: cluster.policy)))


def mask_of(cpus: Iterable[int]) -> str:
    """Return the mask of cores as toybox' taskset wants it: hexadecimal without 0x."""
    return f"{sum(1 << cpu for cpu in set(cpus)):x}"
