"""Lock, verify and restore over real SSH: boards served by asyncssh, and one behind an OpenSSH server."""

from __future__ import annotations

import shlex
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from edgelab.drivers.families.registry import family_for
from edgelab.drivers.family import Family
from edgelab.drivers.profile import load_profile
from edgelab.drivers.simulated import faults
from edgelab.drivers.simulated.environment import HOME, environment
from edgelab.drivers.simulated.faults import Faults
from edgelab.drivers.simulated.physics import reboot
from edgelab.drivers.simulated.tree import create
from edgelab.drivers.ssh.address import SshAddress
from edgelab.drivers.ssh.transport import SshTransport
from edgelab.drivers.transport import Transport
from edgelab.errors import EvaluationFailure
from tests.drivers.families.acting import checks, lock, look, restore
from tests.drivers.families.states import failed
from tests.support.boards import served
from tests.support.openssh import needs_openssh, openssh

pytestmark = pytest.mark.integration
BOARDS = ("jetson-agx-orin-64gb", "rk3588")


def family_of(profile: str, tree: Path) -> Family:
    """Return the family of a board, whose lease is no other's on this machine."""
    lease = str(tree / "tmp/edgelab.lease")
    return family_for(
        msgspec.structs.replace(load_profile(profile), load_argv=("gpu-load", "1"), lease=lease)
    )


def knobs(tree: Path) -> dict[str, str]:
    """Return what governors and limits of all clocks hold, and the power mode."""
    patterns = ("sys/class/devfreq/*/*", "sys/devices/system/cpu/cpufreq/*/*", "var/lib/nvpmodel/status")
    names = ("governor", "min_freq", "max_freq", "status")
    found = {path for pattern in patterns for path in tree.glob(pattern)}
    return {
        str(path.relative_to(tree)): path.read_text()
        for path in sorted(found)
        if path.name.endswith(names) and "available" not in path.name
    }


class Reached(NamedTuple):
    """A board that is served and connected to: its tree of nodes, and the way there."""

    tree: Path
    transport: Transport


@asynccontextmanager
async def by_asyncssh(folder: Path, profile: str) -> AsyncIterator[Reached]:
    """Serve a board by asyncssh and connect to it."""
    async with served(folder, profile) as board, connected(board.address) as transport:
        yield Reached(board.tree, transport)


@asynccontextmanager
async def by_openssh(folder: Path, profile: str) -> AsyncIterator[Reached]:
    """Serve a board by OpenSSH: a forced command gives each command the board's tools, and lets time go on."""
    tree = folder / "tree"
    create(tree, profile)
    settle = "from pathlib import Path; from edgelab.drivers.simulated.physics import settle; settle(Path())"
    exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment(tree).items())
    wrapper = folder / "as_board"
    wrapper.write_text(
        f"#!/bin/sh\ncd {shlex.quote(str(tree))} && PYTHONPATH={shlex.quote(str(Path.cwd()))} "
        f"{shlex.quote(sys.executable)} -c {shlex.quote(settle)} </dev/null\n"
        f'cd {HOME} && export {exports} && exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    wrapper.chmod(0o755)
    with openssh(folder / "sshd", settings=[f"ForceCommand {wrapper}"]) as server:
        address = SshAddress(
            device="behind-openssh",
            host="127.0.0.1",
            port=server.port,
            user=server.user,
            key=str(server.key),
            known_hosts=str(server.known_hosts),
            root=str(tree),
            config=None,
        )
        async with connected(address) as transport:
            yield Reached(tree, transport)


@asynccontextmanager
async def connected(address: SshAddress) -> AsyncIterator[Transport]:
    transport = await SshTransport.connect(address)
    try:
        yield transport
    finally:
        await transport.close()


SERVERS = [
    pytest.param(by_asyncssh, id="asyncssh"),
    # Each command there starts an interpreter, to let the board's time go on.
    pytest.param(by_openssh, id="openssh", marks=[needs_openssh, pytest.mark.slow]),
]
Server = Callable[[Path, str], AbstractAsyncContextManager[Reached]]


@pytest.mark.parametrize("profile", BOARDS)
@pytest.mark.parametrize("server", SERVERS)
async def test_lock_verify_restore(server: Server, profile: str, tmp_path: Path) -> None:
    async with server(tmp_path, profile) as (tree, board):
        family, before = family_of(profile, tree), knobs(tree)
        assert {"gpu_clock", "cpu_clock", "memory_clock"} <= set(failed(await checks(board, family)))

        outcome = await lock(board, family)

        assert outcome.done, outcome
        found = await checks(board, family, under_load=True)
        assert failed(found) == []
        assert found["real_clock"].ok
        assert (await restore(board, family)).done
        assert knobs(tree) == before
        assert (await look(board, family)).saved is None


FAULTS = {
    "rk3588": (
        (
            Faults(real_gpu_hz=850_000_000),
            "real_clock",
            "The GPU runs at 850 MHz although 1000 MHz is requested.",
        ),
        (Faults(clock_cap_hz=850_000_000), "gpu_clock", "not 1000 MHz"),
        (Faults(temperature_c=91.0), "temperature", "91.0 °C"),
        (Faults(clock_offset_s=-9 * 3600), "board_clock", "9 h 00 min behind"),
        (Faults(sudo="denied"), "sudo", "sudoers"),
        (Faults(lock_lost=True), "gpu_clock", "not locked"),
    ),
    "jetson-agx-orin-64gb": (
        (Faults(throttles_per_s=500.0), "throttling", "oc1 by"),
        (Faults(busy_cores=6.0), "load", "other processes are at work"),
        (Faults(free_disk_kib=0), "disk", "Only 0 B of disk is free"),
        (Faults(gpu_units=4), "gpu_units", "Only 4 of the GPU's 8"),
        (Faults(lock_lost=True), "gpu_clock", "not locked"),
    ),
}


@pytest.mark.parametrize(("profile", "found_faults"), FAULTS.items(), ids=FAULTS.keys())
async def test_every_fault_of_a_locked_board_is_found(
    profile: str, found_faults: tuple[tuple[Faults, str, str], ...], tmp_path: Path
) -> None:
    async with by_asyncssh(tmp_path, profile) as (tree, board):
        family = family_of(profile, tree)
        assert (await lock(board, family)).done
        for fault, name, reason in found_faults:
            faults.write(tree, fault)
            found = await checks(board, family, under_load=name == "real_clock")

            assert name in failed(found), fault
            assert reason in found[name].reason
            assert found[name].evidence is not None, fault


REFUSED = {
    "rk3588": (
        (Faults(no_target=True), "has no step at 1000 MHz"),
        (Faults(sudo="denied"), "needs sudo"),
    ),
    "jetson-agx-orin-64gb": (
        (Faults(reboot_prompt=True), "needs a reboot"),
        (Faults(mode_write_failed=True), "the power mode is MODE_50W"),
        (Faults(hung_tool=True), "did not end within"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "refusals"), REFUSED.items(), ids=REFUSED.keys())
async def test_a_refused_lock_says_why_and_leaves_all_as_it_was(
    profile: str, refusals: tuple[tuple[Faults, str], ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgelab.drivers.families.power_mode._CHANGE_LIMIT_S", 0.5)
    async with by_asyncssh(tmp_path, profile) as (tree, board):
        family, before = family_of(profile, tree), knobs(tree)
        for fault, problem in refusals:
            faults.write(tree, fault)
            outcome = await lock(board, family)

            assert not outcome.done
            assert problem in outcome.problem
            assert outcome.needs_reboot == fault.reboot_prompt
            faults.write(tree, Faults())
            assert (await restore(board, family)).done
            assert knobs(tree) == before, fault


async def test_a_full_disk_keeps_the_board_as_it_was(tmp_path: Path) -> None:
    async with by_asyncssh(tmp_path, "rk3588") as (tree, board):
        family, before = family_of("rk3588", tree), knobs(tree)
        faults.write(tree, Faults(free_disk_kib=0))

        # What was cannot be stored, so nothing may be changed.
        with pytest.raises(EvaluationFailure, match="No space left on device"):
            await lock(board, family)

        assert knobs(tree) == before


async def test_a_kernel_without_userspace_is_locked_another_way(tmp_path: Path) -> None:
    async with by_asyncssh(tmp_path, "rk3588") as (tree, board):
        family, before = family_of("rk3588", tree), knobs(tree)
        faults.write(tree, Faults(no_userspace=True))

        assert (await lock(board, family)).done
        assert failed(await checks(board, family)) == []
        assert "performance" in (tree / "sys/class/devfreq/fb000000.gpu/governor").read_text()
        assert (await restore(board, family)).done

        assert knobs(tree) == before


async def test_after_a_reboot_only_the_mode_is_put_back(tmp_path: Path) -> None:
    async with by_asyncssh(tmp_path, "jetson-agx-orin-64gb") as (tree, board):
        family, before = family_of("jetson-agx-orin-64gb", tree), knobs(tree)
        assert (await lock(board, family)).done
        reboot(tree)

        assert (await restore(board, family)).done

        assert knobs(tree) == before
