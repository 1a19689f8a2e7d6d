"""Tuning over SSH on a simulated board: the way a real board is tuned, with its clocks watched."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from edgelab.bench.baseline.budget import BudgetTable
from edgelab.bench.baseline.stopping import StopRule
from edgelab.bench.baseline.tune import TuneRequest
from edgelab.bench.tasks import Catalogue, resolve
from edgelab.drivers.bootstrap.install import bootstrap
from edgelab.drivers.ssh.transport import SshTransport
from edgelab.events import ClocksLocked, ClocksRestored, KernelTuned, TuningEnded
from edgelab.home import Home
from edgelab.lab.device import Device
from edgelab.runs.tuning import profile_key, tune
from edgelab.store.reader import StoreReader
from edgelab.store.tuned import TunedStore
from tests.support import candidates
from tests.support.boards import served

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_a_simulated_board_shares_no_schedules_with_a_real_one():
    real = Device(name="bench", profile="rk3588", backend="llvm")
    simulated = msgspec.structs.replace(real, simulated=True)
    assert profile_key(real) == "rk3588"
    assert profile_key(simulated) != profile_key(real)


async def test_a_task_is_tuned_on_a_board_over_ssh(tmp_path: Path):
    home = Home(tmp_path / "home").ensure()
    async with served(tmp_path / "board") as board:
        transport = await SshTransport.connect(board.address)
        try:
            await bootstrap(transport, home.cache, lambda progress: None)
        finally:
            await transport.close()
        address = board.address
        device = Device(
            name="bench", profile="rk3588", backend="llvm", host=address.host, port=address.port, user=address.user,
            key=address.key, known_hosts=address.known_hosts, root=address.root,
        )  # fmt: skip
        request = TuneRequest(
            task=resolve(str(candidates.DENSE), Catalogue(())),
            device=device.name,
            profile=profile_key(device),
            cache=home.cache,
            trials=4,
            budgets=BudgetTable({}),
            rule=StopRule(finalists=2, rounds=2),
        )
        events: list = []
        (tuned,) = await tune(home, device, [request], "llvm", events.append)
    (kernel,) = tuned.kernels
    assert kernel.state in ("tuned", "plain")
    assert (kernel.trials, kernel.failed) == (4, 0)
    kinds = [type(event) for event in events]
    assert kinds.index(ClocksLocked) < kinds.index(KernelTuned) < kinds.index(TuningEnded)
    assert kinds.index(TuningEnded) < kinds.index(ClocksRestored)
    with TunedStore(home.database, home.blobs) as store:
        assert [row.digest for row in store.kernels("dense", "rk3588")] == [kernel.digest]
    with StoreReader(home.database) as reader:
        (run,) = reader.runs()
        assert (run.kind, run.state, run.task, run.device) == ("tune", "done", "dense", "bench")
        assert TuningEnded in [type(event.body) for event in reader.events_after(0, run=run.id)]
