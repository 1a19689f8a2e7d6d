"""RK3588: GPU, memory and CPU clusters are held by whatever way the kernel has, and put back as they were."""

from __future__ import annotations

import msgspec
import pytest

from edgelab.drivers.families.rk3588 import CLOCK_TREE, Rk3588Family
from edgelab.drivers.profile import load_profile
from tests.drivers.families.acting import checks, lock, look, restore
from tests.drivers.families.fake_board import FakeBoard, fixed_tool
from tests.drivers.families.fake_rk3588 import DMC, GPU, clock_tree, fake_rk3588
from tests.drivers.families.states import failed, source_of

PROFILE = msgspec.structs.replace(load_profile("rk3588"), load_argv=("gpu-load", "1"))
FAMILY = Rk3588Family(PROFILE)
CPU = "/sys/devices/system/cpu/cpufreq"


async def test_an_idle_board_after_booting_is_not_ready_and_says_why() -> None:
    found = await checks(fake_rk3588(), FAMILY)

    assert failed(found) == ["gpu_clock", "cpu_clock", "memory_clock"]
    assert "may go from 300 MHz to 1000 MHz under governor simple_ondemand" in found["gpu_clock"].reason
    assert source_of(found["gpu_clock"]) == GPU
    assert "current 300000000" in str(found["gpu_clock"].evidence)
    assert found["identity"].ok
    assert found["sudo"].ok


WAYS = {
    "userspace": ("userspace performance simple_ondemand dmc_ondemand", "userspace"),
    "performance": ("powersave performance rknpu_ondemand dmc_ondemand simple_ondemand", "performance"),
    "limits": ("simple_ondemand dmc_ondemand", "simple_ondemand"),
}


@pytest.mark.parametrize("strict", [False, True], ids=["qos limits", "strict limits"])
@pytest.mark.parametrize(("governors", "held_by"), WAYS.values(), ids=WAYS.keys())
async def test_lock_holds_by_the_best_way_and_restore_puts_all_back(
    governors: str, held_by: str, strict: bool
) -> None:
    board, said = fake_rk3588(gpu_governors=governors, strict_limits=strict), []
    before = board.nodes()

    outcome = await lock(board, FAMILY, said)

    assert outcome.done, outcome
    assert board.files[f"{GPU}/governor"] == held_by
    assert board.files[f"{GPU}/cur_freq"] == "1000000000"
    assert board.files[f"{DMC}/cur_freq"] == "2400000000"
    tops = [board.files[f"{CPU}/policy{policy}/scaling_cur_freq"] for policy in (0, 4, 6)]
    assert tops == ["1800000", "2256000", "2304000"]
    assert failed(await checks(board, FAMILY)) == []
    assert any("GPU is told to stay at 1000 MHz" in step for step in said)

    assert (await restore(board, FAMILY)).done
    assert board.nodes() == before
    assert not [path for path in board.files if path.startswith(".edgelab")]


async def test_a_governor_that_is_listed_and_refused_gives_way_to_the_next() -> None:
    board, said = fake_rk3588(), []
    board.kernel.lists_but_refuses.add("userspace")

    assert (await lock(board, FAMILY, said)).done
    assert board.files[f"{GPU}/governor"] == "performance"
    assert any("Invalid argument" in step and "next way" in step for step in said)


async def test_a_clock_that_is_not_in_the_table_changes_nothing() -> None:
    board = fake_rk3588(gpu_steps_hz=(300_000_000, 850_000_000))
    before = board.nodes()

    outcome = await lock(board, FAMILY)

    assert not outcome.done
    assert outcome.problem == (
        "The GPU has no step at 1000 MHz: its table goes from 300 MHz to 850 MHz. Nothing was changed."
    )
    assert board.nodes() == before


async def test_a_board_without_a_gpu_node_changes_nothing() -> None:
    board = fake_rk3588()
    for path in [path for path in board.files if path.startswith(GPU)]:
        del board.files[path]
    before = board.nodes()

    outcome = await lock(board, FAMILY)

    assert not outcome.done
    assert "no GPU clock to lock" in outcome.problem
    assert board.nodes() == before


async def test_a_knob_that_stays_otherwise_is_a_problem_in_one_sentence() -> None:
    board = fake_rk3588(gpu_governors="simple_ondemand")
    board.kernel.stuck[f"{GPU}/min_freq"] = "300000000"

    outcome = await lock(board, FAMILY)

    assert not outcome.done
    assert outcome.problem == f"{GPU}/min_freq holds 300000000 after 1000000000 was written."


async def test_without_sudo_nothing_is_changed_and_the_check_says_so() -> None:
    board = fake_rk3588()
    board.sudo = False
    before = board.nodes()

    outcome = await lock(board, FAMILY)

    assert not outcome.done
    assert "sudo" in outcome.problem
    assert outcome.advice
    assert board.nodes() == before
    found = await checks(board, FAMILY)
    assert "sudo" in failed(found)
    assert "a password is required" in found["real_clock"].reason


async def test_another_board_than_the_profiles_is_never_touched() -> None:
    board = fake_rk3588()
    board.files["/proc/device-tree/compatible"] = "rockchip,rk3568"
    before = board.nodes()

    outcome = await lock(board, FAMILY)

    assert not outcome.done
    assert "This board calls itself 'Radxa ROCK 5B', which is no RK3588" in outcome.problem
    assert outcome.advice == "Give the device the profile of the board it is."
    assert board.nodes() == before


async def test_limits_that_nobody_asked_for_read_as_0_and_go_back_so() -> None:
    board = fake_rk3588(gpu_governors="performance simple_ondemand")
    board.files.update({f"{GPU}/min_freq": "0", f"{GPU}/max_freq": "0"})
    before = board.nodes()
    assert "from 0 MHz to unknown" in (await checks(board, FAMILY))["gpu_clock"].reason

    assert (await lock(board, FAMILY)).done
    assert (await checks(board, FAMILY))["gpu_clock"].ok
    assert (await restore(board, FAMILY)).done
    assert board.nodes() | {f"{GPU}/cur_freq": ""} == before | {f"{GPU}/cur_freq": ""}


def loaded(board: FakeBoard, gpu_hz: int) -> None:
    """Make the board run its load: meanwhile the clock tree shows the GPU."""
    board.files[CLOCK_TREE] = clock_tree(gpu_hz)
    board.tools["gpu-load"] = fixed_tool("")


async def test_850_mhz_behind_a_request_of_1_ghz_is_found_under_load_alone() -> None:
    board = fake_rk3588()
    await lock(board, FAMILY)

    idle = await checks(board, FAMILY)
    assert idle["gpu_clock"].ok
    assert idle["real_clock"].ok is None
    assert "idle" in idle["real_clock"].reason

    loaded(board, 850_000_000)
    found = await checks(board, FAMILY, under_load=True)
    assert failed(found) == ["real_clock"]
    assert found["real_clock"].reason == "The GPU runs at 850 MHz although 1000 MHz is requested."
    assert source_of(found["real_clock"]) == CLOCK_TREE

    loaded(board, 990_000_000)
    assert (await checks(board, FAMILY, under_load=True))["real_clock"].ok


async def test_a_lock_lost_behind_our_back_is_seen_by_what_the_worker_reads() -> None:
    board = fake_rk3588()
    await lock(board, FAMILY)
    locked = await look(board, FAMILY)
    nodes = FAMILY.sampled_nodes(locked)

    def sampled() -> dict[str, bytes]:
        return {path: board.files[path].encode() + b"\n" for path in nodes}

    assert FAMILY.lock_lost(locked, sampled()) is None
    board.kernel.write(f"{GPU}/governor", "simple_ondemand")
    assert (
        FAMILY.lock_lost(locked, sampled()) == "The governor of GPU went from userspace to simple_ondemand."
    )
    board.kernel.write(f"{GPU}/governor", "userspace")
    board.kernel.write(f"{GPU}/userspace/set_freq", "900000000")
    assert FAMILY.lock_lost(locked, sampled()) == "The frequency of GPU went from 1000 MHz to 900 MHz."


async def test_a_node_that_could_not_be_read_is_no_lost_lock() -> None:
    board = fake_rk3588()
    await lock(board, FAMILY)
    locked = await look(board, FAMILY)

    assert FAMILY.lock_lost(locked, {}) is None


async def test_after_a_reboot_nothing_is_written() -> None:
    board, said = fake_rk3588(), []
    await lock(board, FAMILY)
    board.files["/proc/sys/kernel/random/boot_id"] = "another"
    held = board.nodes()

    assert (await restore(board, FAMILY, said)).done
    assert board.nodes() == held
    assert said == ["the board was booted since: its clocks fell back by themselves"]


async def test_what_does_not_go_back_keeps_the_store() -> None:
    board = fake_rk3588()
    await lock(board, FAMILY)
    board.kernel.read_only.add(f"{GPU}/governor")

    outcome = await restore(board, FAMILY)

    assert not outcome.done
    assert f"{GPU}/governor does not take simple_ondemand" in outcome.problem
    board.kernel.read_only.clear()
    assert (await restore(board, FAMILY)).done


async def test_the_gpu_never_gets_the_memorys_governor_not_even_back() -> None:
    board = fake_rk3588()
    board.files[f"{GPU}/governor"] = "dmc_ondemand"

    await lock(board, FAMILY)
    outcome = await restore(board, FAMILY)

    assert outcome.done
    assert board.files[f"{GPU}/governor"] == "userspace"
    assert board.files[f"{DMC}/governor"] == "dmc_ondemand"
