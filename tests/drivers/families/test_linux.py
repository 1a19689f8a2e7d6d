"""Linux machines: checked always, and their CPU governor set and put back where a profile allows it."""

from __future__ import annotations

import msgspec
import pytest

from edgelab.drivers.families.linux import LinuxFamily
from edgelab.drivers.profile import ClockPolicy, load_profile
from edgelab.drivers.transport import CommandResult
from tests.drivers.families.acting import checks, lock, look, restore
from tests.drivers.families.fake_board import DISK, FakeBoard, FakeKernel, cpufreq, fixed_tool, proc
from tests.drivers.families.states import failed

PROFILE = load_profile("linux-x86_64")
LOCKED = msgspec.structs.replace(PROFILE, clocks=ClockPolicy(lock=True, cpu_governor="performance"))
CPU = "/sys/devices/system/cpu"


def fake_server(*, cpufreq_driver: bool = True, listed: str = "performance powersave") -> FakeBoard:
    files = {
        **proc("Server"),
        "/etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian',
        f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "3",
        f"{CPU}/cpu1/thermal_throttle/core_throttle_count": "4",
        f"{CPU}/cpu0/thermal_throttle/package_throttle_count": "9",
        f"{CPU}/cpu1/thermal_throttle/package_throttle_count": "9",
        "/sys/class/thermal/cooling_device0/type": "Processor",
        "/sys/class/thermal/cooling_device0/cur_state": "0",
        "/sys/class/thermal/cooling_device1/type": "Fan",
        "/sys/class/thermal/cooling_device1/cur_state": "2",
        "/sys/class/thermal/cooling_device2/type": "intel_powerclamp",
        "/sys/class/thermal/cooling_device2/cur_state": "-1",
    }
    if cpufreq_driver:
        for policy in (0, 1):
            files |= cpufreq(policy, str(policy), (800_000, 3_500_000), "powersave")
            files[f"{CPU}/cpufreq/policy{policy}/scaling_available_governors"] = listed
    ok = CommandResult(0, b"", b"")
    tools = {"df": DISK, "true": lambda argv, stdin: ok, "uname": fixed_tool("x86_64\n")}
    return FakeBoard(FakeKernel(files), tools)


async def test_an_idle_machine_is_ready_as_it_is() -> None:
    found = await checks(fake_server(), LinuxFamily(PROFILE))

    assert failed(found) == []
    assert (await look(fake_server(), LinuxFamily(PROFILE))).system == "Debian GNU/Linux 12 (bookworm)"
    assert found["cpu_clock"].value == "policy0 800 MHz, policy1 800 MHz"
    assert found["throttling"].value == "core_throttle 7, package_throttle 9"
    assert "sudo" not in found


async def test_a_machine_of_another_kind_is_found() -> None:
    board = fake_server()
    board.tools["uname"] = fixed_tool("riscv64\n")

    assert failed(await checks(board, LinuxFamily(PROFILE))) == ["identity"]


async def test_throttling_of_one_core_is_found() -> None:
    board, family = fake_server(), LinuxFamily(PROFILE)
    before = await look(board, family, full=False)
    board.files[f"{CPU}/cpu1/thermal_throttle/core_throttle_count"] = "5"

    found = {check.name: check for check in family.judge(await look(board, family), before)}
    assert failed(found) == ["throttling"]
    assert "core_throttle by 1" in found["throttling"].reason


async def test_a_processor_held_back_just_now_is_found() -> None:
    board = fake_server()
    board.files["/sys/class/thermal/cooling_device0/cur_state"] = "3"

    found = await checks(board, LinuxFamily(PROFILE))
    assert failed(found) == ["throttling"]
    assert "(Processor 3)" in found["throttling"].reason


async def test_the_governor_is_set_and_put_back_where_a_profile_allows_it() -> None:
    board, family = fake_server(), LinuxFamily(LOCKED)
    before = board.nodes()
    assert failed(await checks(board, family)) == ["cpu_clock"]

    assert (await lock(board, family)).done
    assert failed(await checks(board, family)) == []

    assert (await restore(board, family)).done
    assert board.nodes() == before


async def test_a_machine_without_cpufreq_has_nothing_to_lock() -> None:
    board, said = fake_server(cpufreq_driver=False), []

    assert (await lock(board, LinuxFamily(LOCKED), said)).done
    assert said == ["there is no clock to lock on this device"]
    found = await checks(board, LinuxFamily(LOCKED))
    assert found["cpu_clock"].ok is None
    assert "is not on this board" in found["cpu_clock"].reason


async def test_a_governor_the_kernel_does_not_offer_is_named() -> None:
    outcome = await lock(fake_server(listed="powersave schedutil"), LinuxFamily(LOCKED))

    assert not outcome.done
    assert outcome.problem == "The CPU policy0 has no governor performance: it has powersave, schedutil."


@pytest.mark.parametrize("reason", ["Permission denied", "Input/output error"])
async def test_a_refused_file_is_unknown_in_the_boards_words(reason: str) -> None:
    board = fake_server()
    board.denied["/proc/meminfo"] = reason
    profile = msgspec.structs.replace(PROFILE, required=("memory",))

    found = (await checks(board, LinuxFamily(profile)))["memory"]
    assert found.ok is None
    assert found.required
    assert found.reason == f"The memory could not be read: /proc/meminfo: {reason}."


async def test_the_worker_reads_few_nodes_of_a_large_machine() -> None:
    board = fake_server()
    for cpu in range(200):
        board.files.update(cpufreq(cpu, str(cpu), (800_000, 3_500_000)))
        board.files[f"{CPU}/cpu{cpu}/thermal_throttle/core_throttle_count"] = "0"
    family = LinuxFamily(LOCKED)

    assert len(family.sampled_nodes(await look(board, family))) < 250
