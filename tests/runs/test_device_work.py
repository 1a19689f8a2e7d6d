"""Runs on simulated boards over real SSH: bootstrap, clocks lost in the middle, links that break in the middle."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from edgelab.drivers.bootstrap.install import bootstrap
from edgelab.drivers.simulated import faults
from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.ssh.transport import SshTransport
from edgelab.errors import ClocksLost, EvaluationFailure, FailureClass, NotReadyError
from edgelab.events import ClocksLocked, ClocksRestored, LinkBack, LinkLost, LockLost
from edgelab.home import Home
from edgelab.lab.device import Device
from edgelab.runs import device_work
from edgelab.runs.device_work import DeviceWork
from tests.support.boards import ServedBoard, proxied, served

pytestmark = [pytest.mark.integration, pytest.mark.slow]


class Lab:
    """One board that is in the lab as a real device with fake nodes, and what a run on it says."""

    def __init__(self, board: ServedBoard, home: Home) -> None:
        self.board, self.home = board, home
        self.events: list = []
        address = board.address
        self.device = Device(
            name="bench", profile="rk3588", backend="llvm", host=address.host, port=address.port, user=address.user,
            key=address.key, known_hosts=address.known_hosts, root=address.root,
        )  # fmt: skip

    def work(self, **options: float) -> DeviceWork:
        return DeviceWork(self.device, self.home, "r1", self.events.append, lambda since_s: 3, **options)

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def governor(self) -> str:
        return (self.board.tree / "sys/class/devfreq/fb000000.gpu/governor").read_text().strip()


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
async def lab(tmp_path, cache):
    home = Home(tmp_path / "home")
    home.root.mkdir()
    home.cache.symlink_to(cache)
    async with served(tmp_path / "board") as board:
        transport = await SshTransport.connect(board.address)
        try:
            installed = await bootstrap(transport, cache, lambda progress: None)
            assert installed.library_bytes < 8 << 20
            assert (await bootstrap(transport, cache, lambda progress: None)).already
        finally:
            await transport.close()
        yield Lab(board, home)


async def hello(services) -> str:
    return (await (await services.worker()).hello()).tvm


async def test_the_worker_runs_in_the_runtime_that_was_sent(lab):
    async def attempt(services, watch):
        assert lab.governor() == "userspace"
        nodes = (await (await services.worker()).sample(watch.nodes)).nodes
        assert any(path.endswith("fb000000.gpu/cur_freq") and text for path, text in nodes.items())
        return await hello(services)

    assert (await lab.work().run(attempt)).startswith("0.")
    assert lab.governor() == "simple_ondemand"
    assert [len(lab.of(kind)) for kind in (ClocksLocked, ClocksRestored)] == [1, 1]


async def test_clocks_lost_in_the_middle_are_locked_again_and_the_work_repeated(lab):
    attempts = []

    async def attempt(services, watch):
        attempts.append(1)
        worker = await services.worker()
        if len(attempts) == 1:
            faults.write(lab.board.tree, Faults(lock_lost=True))
            async with asyncio.timeout(5):
                while True:
                    try:
                        watch.confirm(await worker.sample(watch.nodes))
                    except ClocksLost:
                        faults.write(lab.board.tree, Faults())
                        raise
                    await asyncio.sleep(0.05)
        watch.confirm(await worker.sample(watch.nodes))
        return "done"

    assert await lab.work().run(attempt) == "done"
    assert len(attempts) == 2
    (lost,) = lab.of(LockLost)
    assert lost.invalidated == 3
    assert lab.of(ClocksLocked)[-1].again
    assert lab.governor() == "simple_ondemand"


def trusting(path: Path, device: Device, port: int) -> Path:
    """Write a known-hosts file that knows the device's key at another port."""
    path.write_text(Path(device.known_hosts).read_text().replace(f":{device.port} ", f":{port} "))
    return path


async def test_a_broken_link_is_waited_for_and_the_work_goes_on(lab, tmp_path):
    async with proxied(lab.board.server.port) as proxy:
        known = trusting(tmp_path / "known", lab.device, proxy.port)
        lab.device = msgspec.structs.replace(lab.device, port=proxy.port, known_hosts=str(known))
        attempts = []

        async def attempt(services, watch):
            attempts.append(1)
            if len(attempts) == 1:
                proxy.cut()
            return await hello(services)

        found = await lab.work().run(attempt)
    assert found.startswith("0.")
    assert len(lab.of(LinkLost)) == len(lab.of(LinkBack)) == 1
    assert lab.governor() == "simple_ondemand"
    assert not (lab.board.tree / "home/lab/.edgelab/saved.json").exists()


async def test_a_link_that_stays_down_ends_the_wait(lab, monkeypatch):
    monkeypatch.setattr(device_work, "_LONGEST_BACK_OFF_S", 0.1)

    async def attempt(services, watch):
        await lab.board.server.close()
        return await hello(services)

    with pytest.raises(EvaluationFailure) as caught:
        await lab.work(link_wait_s=0.5).run(attempt)
    assert caught.value.failure_class is FailureClass.INFRASTRUCTURE


async def test_a_failure_of_the_candidate_is_not_repeated(lab):
    attempts = []

    async def attempt(services, watch):
        attempts.append(1)
        raise EvaluationFailure(FailureClass.NUMERIC, "wrong")

    with pytest.raises(EvaluationFailure, match="wrong"):
        await lab.work().run(attempt)
    assert attempts == [1]
    assert lab.governor() == "simple_ondemand"


async def test_a_hot_board_is_refused_before_anything_is_changed(lab):
    faults.write(lab.board.tree, Faults(temperature_c=95.0))

    async def attempt(services, watch):
        raise AssertionError("must not be reached")

    with pytest.raises(NotReadyError, match="95"):
        await lab.work().run(attempt)
    assert lab.governor() == "simple_ondemand"
