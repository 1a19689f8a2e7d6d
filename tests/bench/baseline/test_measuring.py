"""Bundles on a real worker: a worker that dies in the middle of a batch costs time, not measurements."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from edgelab.bench.baseline.measuring import Effort, KernelMeasuring
from edgelab.bench.services import Services
from edgelab.drivers.local import LocalTransport
from edgelab.drivers.worker_messages import DeviceReading
from edgelab.errors import ClocksLost
from edgelab.events import DeviceSampled
from edgelab.kernel.tuning.protocol import Bundle, KernelTensor
from tests.support.cli import wait_for

pytestmark = pytest.mark.integration

SOURCE = "#include <unistd.h>\nint __tvm_ffi_main(void *a, void *b, int c, void *d) {{ usleep({us}); return 0; }}\n"
TENSORS = (KernelTensor((4,), "float32"),)
EFFORT = Effort(block_s=0.001, blocks=2, single_s=0.05)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Bundle:
    """Kernels of 1 ms, none (it did not build), 200 ms and 20 ms."""
    folder = tmp_path_factory.mktemp("bundle")
    content, places = b"", []
    for us in (1_000, None, 200_000, 20_000):
        if us is None:
            places.append(None)
            continue
        source, library = folder / "kernel.c", folder / "kernel.so"
        source.write_text(SOURCE.format(us=us))
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        places.append((len(content), library.stat().st_size))
        content += library.read_bytes()
    path = folder / "bundle"
    path.write_bytes(content)
    return Bundle(str(path), tuple(places), ("", "it did not build", "", ""))


def services(folder: Path) -> Services:
    return Services(LocalTransport(folder / "device"), folder / "cache", lambda body: None)


def in_order(found) -> bool:
    first, failed, slow, second = found
    return (
        failed.error == "it did not build"
        and min(first.run_s) < min(second.run_s) < min(slow.run_s)
        and len(first.run_s) == 2
        and len(slow.run_s) == 1
    )


@pytest.mark.parametrize("backwards", [False, True])
async def test_measurements_come_in_the_order_of_the_bundle(tmp_path, bundle, backwards):
    async with services(tmp_path) as running:
        found = await KernelMeasuring(running).measure(bundle, TENSORS, EFFORT, backwards=backwards)
    assert in_order(found)


async def test_a_bundle_without_anything_built_asks_nothing_of_the_device(tmp_path):
    async with services(tmp_path) as running:
        empty = Bundle("/nowhere", (None,), ("no",))
        (found,) = await KernelMeasuring(running).measure(empty, TENSORS, EFFORT)
    assert found.error == "no"


async def test_a_worker_that_dies_in_the_middle_of_a_batch_is_replaced_and_the_batch_measured(
    tmp_path, bundle
):
    async with services(tmp_path) as running:
        worker = await running.worker()
        pid = (await worker.hello()).pid
        measuring = asyncio.create_task(KernelMeasuring(running).measure(bundle, TENSORS, EFFORT))
        await asyncio.to_thread(wait_for, lambda: has_program(pid))
        os.kill(pid, signal.SIGKILL)
        assert in_order(await measuring)
        assert (await (await running.worker()).hello()).pid != pid


def has_program(pid: int) -> bool:
    """Whether the worker's fork server has a child."""
    return any(child.children() for child in psutil.Process(pid).children())


class Lost:
    """A device whose clocks are found changed."""

    nodes = ()

    def sampled(self, reading: DeviceReading) -> DeviceSampled:
        return DeviceSampled()

    def confirm(self, reading: DeviceReading) -> None:
        raise ClocksLost("the GPU runs at 300 MHz")


async def test_what_was_measured_under_other_clocks_does_not_count(tmp_path, bundle):
    async with services(tmp_path) as running:
        with pytest.raises(ClocksLost):
            await KernelMeasuring(running, Lost()).measure(bundle, TENSORS, EFFORT)


def test_a_slow_candidate_is_not_timed_closely():
    assert EFFORT.against(0.002).single_s == pytest.approx(0.006)
    assert EFFORT.against(None) == EFFORT
