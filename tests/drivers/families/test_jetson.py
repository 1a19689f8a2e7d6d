"""Jetson: mode by name, clocks by jetson_clocks, its store before its lock, and never a reboot."""

from __future__ import annotations

import msgspec
import pytest

from edgelab.drivers.device_state import PowerMode
from edgelab.drivers.families.jetson import JetsonFamily
from edgelab.drivers.probe import CommandOutput
from edgelab.drivers.profile import load_profile
from tests.drivers.families.acting import checks, lock, look, restore
from tests.drivers.families.fake_board import NOW_S, fixed_tool
from tests.drivers.families.fake_jetson import EMC, GPU, MODES, OC, STATUS, FakeJetson
from tests.drivers.families.states import TEXTS, failed, source_of

PROFILE = load_profile("jetson-agx-orin-64gb")
FAMILY = JetsonFamily(PROFILE)


async def test_a_look_reads_everything_that_is_judged() -> None:
    state = await look(FakeJetson(), FAMILY)

    assert state.power_mode == PowerMode("MODE_30W", 2)
    assert state.power_modes == tuple(PowerMode(name, number) for number, (name, _, _) in MODES.items())
    assert state.model == "NVIDIA Jetson AGX Orin Developer Kit"
    assert state.system == "JetPack 6.2 (L4T 36.4.3)"
    gpu, memory = state.clock("gpu"), state.clock("memory")
    assert gpu is not None
    assert (gpu.min_hz, gpu.max_hz, gpu.current_hz, gpu.load_percent) == (
        306_000_000,
        612_000_000,
        306_000_000,
        1.2,
    )
    assert memory is not None
    assert (memory.min_hz, memory.max_hz, memory.current_hz) == (204_000_000, 3_199_000_000, 2_133_000_000)
    assert len([clock for clock in state.clocks if clock.kind == "cpu"]) == 3
    assert state.clocks_locked is False
    assert state.gpu_units == 8
    assert state.throttle_counts == (("oc1", 0), ("oc2", 3), ("oc3", 812))
    assert state.cores == 8
    assert state.memory_total_bytes == 64_349_628 << 10
    assert state.disk_free_bytes == 38_123_456 << 10
    assert state.boot_id
    assert [zone.celsius for zone in state.temperatures] == [41.5]


async def test_a_poll_asks_for_files_and_never_for_root() -> None:
    request = FAMILY.request(full=False)

    assert request.root_files == ()
    assert [command.name for command in request.commands if command.root] == []
    assert {command.name for command in request.commands} == {"df", "lease"}
    state = await look(FakeJetson(), FAMILY, full=False)
    assert state.power_mode == PowerMode("MODE_30W", 2)
    assert [clock.current_hz for clock in state.clocks if clock.kind == "gpu"] == [306_000_000]


async def test_lock_sets_mode_and_clocks_and_restore_puts_all_back() -> None:
    board, said = FakeJetson(), []
    before = board.nodes()

    outcome = await lock(board, FAMILY, said)

    assert outcome.done, outcome
    found = await checks(board, FAMILY)
    assert failed(found) == []
    assert found["power_mode"].value == "MAXN (0)"
    assert found["memory_clock"].ok
    assert found["gpu_units"].ok
    assert said[-1] == "read back: mode MAXN, GPU 1300.5 MHz, CPU 2201.6 MHz"
    assert said.index("power mode MAXN (0) is in force") > next(
        index for index, step in enumerate(said) if step.startswith("clocks are stored in")
    )

    said.clear()
    assert (await restore(board, FAMILY, said)).done
    assert board.nodes() == before
    assert "power mode MODE_30W (2) is in force" in said
    assert "hold what they held before" in said[-1]
    assert not [path for path in board.files if path.startswith(".edgelab")]


async def test_wrong_mode_though_locked_and_maxn_though_unlocked_are_told_apart() -> None:
    locked = FakeJetson(2)
    locked.jetson_clocks(["jetson_clocks"], b"")
    found = await checks(locked, FAMILY)
    assert found["power_mode"].reason == "The power mode is MODE_30W, not MAXN though its clocks are locked."
    assert "capped at 612 MHz" in found["gpu_clock"].reason

    unlocked = FakeJetson(0)
    found = await checks(unlocked, FAMILY)
    assert found["power_mode"].ok
    assert "not locked" in found["gpu_clock"].reason
    assert "not locked" in found["cpu_clock"].reason


async def test_a_mode_that_wants_a_reboot_is_left_to_the_operator() -> None:
    board = FakeJetson()
    board.asks_reboot = True
    before = board.nodes()

    outcome = await lock(board, FAMILY)

    assert not outcome.done
    assert outcome.needs_reboot
    assert "needs a reboot, which EdgeLab never starts by itself" in outcome.problem
    assert "sudo nvpmodel -m 0" in outcome.advice
    assert "YES" in outcome.advice
    assert not board.rebooted
    assert board.nodes() == before


async def test_the_mode_is_chosen_by_name_where_0_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    modes = {0: ("15W", 612_000_000, 1_497_600), 2: ("MAXN_SUPER", 1_300_500_000, 2_201_600)}
    monkeypatch.setattr("tests.drivers.families.fake_jetson.MODES", modes)
    profile = msgspec.structs.replace(
        PROFILE, clocks=msgspec.structs.replace(PROFILE.clocks, power_mode="MAXN_SUPER")
    )
    board = FakeJetson(0)

    assert (await lock(board, JetsonFamily(profile))).done
    assert board.files[STATUS] == "pmode:0002"


async def test_a_mode_the_board_does_not_have_changes_nothing() -> None:
    profile = msgspec.structs.replace(
        PROFILE, clocks=msgspec.structs.replace(PROFILE.clocks, power_mode="MAXN_SUPER")
    )
    board = FakeJetson()
    before = board.nodes()

    outcome = await lock(board, JetsonFamily(profile))

    assert outcome.problem == (
        "This board knows no power mode MAXN_SUPER: it has MAXN, MODE_30W, MODE_50W. Nothing was changed."
    )
    assert board.nodes() == before


async def test_a_table_without_the_target_changes_nothing() -> None:
    board = FakeJetson()
    board.files[f"{GPU}/available_frequencies"] = "114750000 306000000 624750000"

    outcome = await lock(board, FAMILY)

    assert "no step at 1300.5 MHz: its table goes from 114.75 MHz to 624.75 MHz" in outcome.problem
    assert not [entry for entry in board.log if "store" in entry]


async def test_a_change_of_mode_that_fails_is_told_in_nvpmodels_words() -> None:
    board = FakeJetson()
    real = board.tools["/usr/sbin/nvpmodel"]
    failing = fixed_tool((TEXTS / "nvpmodel_m_write_failed.txt").read_text())
    board.tools["/usr/sbin/nvpmodel"] = lambda argv, stdin: (failing if argv[1] == "-m" else real)(
        argv, stdin
    )

    outcome = await lock(board, FAMILY)

    assert not outcome.done
    assert not outcome.needs_reboot
    assert "the power mode is MODE_30W after nvpmodel was asked for MAXN" in outcome.problem


async def test_jetson_clocks_that_does_nothing_is_found_by_reading_back() -> None:
    board = FakeJetson()
    real = board.jetson_clocks
    board.tools["/usr/bin/jetson_clocks"] = lambda argv, stdin: (
        real(argv, stdin) if len(argv) > 1 else fixed_tool("")(argv, stdin)
    )

    outcome = await lock(board, FAMILY)

    assert not outcome.done
    assert "The GPU clock is not locked" in outcome.problem


async def test_a_second_lock_keeps_the_first_store() -> None:
    board, said = FakeJetson(), []
    before = board.nodes()
    await lock(board, FAMILY)

    assert (await lock(board, FAMILY, said)).done
    assert any("is kept: it holds what was before the first change" in step for step in said)
    assert (await restore(board, FAMILY)).done
    assert board.nodes() == before


async def test_after_a_reboot_only_the_mode_is_put_back() -> None:
    board, said = FakeJetson(), []
    await lock(board, FAMILY)
    board.boot()

    assert (await restore(board, FAMILY, said)).done

    assert board.files[STATUS] == "pmode:0002"
    assert "its clocks fell back by themselves, its power mode did not" in said[0]
    assert board.files[f"{EMC}/mrq_rate_locked"] == "0"
    assert not [path for path in board.files if path.startswith(".edgelab")]


async def test_a_lock_after_a_reboot_remembers_the_mode_of_before() -> None:
    board = FakeJetson(3)
    await lock(board, FAMILY)
    board.boot()

    assert (await lock(board, FAMILY)).done
    assert (await restore(board, FAMILY)).done
    assert board.files[STATUS] == "pmode:0003"


async def test_a_restore_whose_mode_wants_a_reboot_says_so_and_can_be_repeated() -> None:
    board = FakeJetson()
    before = board.nodes()
    await lock(board, FAMILY)
    board.asks_reboot = True

    outcome = await restore(board, FAMILY)
    assert outcome.needs_reboot
    assert "sudo nvpmodel -m 2" in outcome.advice

    board.asks_reboot = False
    assert (await restore(board, FAMILY)).done
    assert board.nodes() == before


async def test_a_hung_nvpmodel_leaves_the_mode_known_from_its_file() -> None:
    board = FakeJetson()
    board.hung = True

    found = await checks(board, FAMILY)

    assert found["power_mode"].value == "MODE_30W (2)"
    assert source_of(found["power_mode"]) == STATUS


async def test_a_lock_with_a_hung_nvpmodel_ends_in_one_sentence() -> None:
    board = FakeJetson()
    board.hung = True

    outcome = await lock(board, FAMILY)

    assert not outcome.done
    assert "did not end within" in outcome.problem


async def test_without_sudo_every_unknown_says_so() -> None:
    board = FakeJetson()
    board.sudo = False

    found = await checks(board, FAMILY)

    assert "sudo" in failed(found)
    for name in ("memory_clock", "gpu_units"):
        assert found[name].ok is None
        assert "a password is required" in found[name].reason
    assert found["memory_clock"].required


async def test_throttle_counters_that_grow_are_found() -> None:
    board = FakeJetson()
    before = await look(board, FAMILY, full=False)
    board.files[f"{OC}/oc2_event_cnt"] = "5"
    state = await look(board, FAMILY)

    (found,) = [check for check in FAMILY.judge(state, before) if check.name == "throttling"]
    assert found.ok is False
    assert "oc2 by 2" in found.reason
    assert source_of(found).startswith(OC)


async def test_the_worker_sees_a_mode_that_someone_else_set() -> None:
    board = FakeJetson()
    await lock(board, FAMILY)
    locked = await look(board, FAMILY)
    nodes = FAMILY.sampled_nodes(locked)
    assert all(path.startswith(("/sys/class", "/sys/devices", "/proc", "/var", "/etc")) for path in nodes)

    def sampled() -> dict[str, bytes]:
        return {path: board.files[path].encode() for path in nodes}

    assert FAMILY.lock_lost(locked, sampled()) is None
    board.nvpmodel(["nvpmodel", "-m", "2"], b"")
    assert FAMILY.lock_lost(locked, sampled()) == "The power mode went from MAXN to MODE_30W."
    board.nvpmodel(["nvpmodel", "-m", "0"], b"")
    assert FAMILY.lock_lost(locked, sampled()) == "The lower limit of GPU went from 1300.5 MHz to 306 MHz."


async def test_the_worker_sees_over_current() -> None:
    board = FakeJetson()
    await lock(board, FAMILY)
    locked = await look(board, FAMILY)
    board.files[f"{OC}/oc1_event_cnt"] = "1"
    files = {path: board.files[path].encode() for path in FAMILY.sampled_nodes(locked)}

    assert "oc1 by 1" in (FAMILY.lock_lost(locked, files) or "")


SHOWN = {
    "jetson_clocks_jp7_maxn_locked.txt": (True, 8, True),
    "jetson_clocks_jp6_maxn_unlocked.txt": (False, 8, False),
    "jetson_clocks_jp6_all_but_emc.txt": (False, 8, False),
    # Locked, and held below 3199 MHz by its mode.
    "jetson_clocks_jp5_15w_locked_wrong_mode.txt": (True, None, False),
}


@pytest.mark.parametrize(
    ("name", "locked", "units", "memory"), [(name, *want) for name, want in SHOWN.items()]
)
async def test_what_real_boards_print_is_read(
    name: str, locked: bool, units: int | None, memory: bool
) -> None:
    reply = await FakeJetson().probe(FAMILY.request())
    output = CommandOutput(0, (TEXTS / name).read_bytes())
    state = FAMILY.read(msgspec.structs.replace(reply, outputs={**reply.outputs, "jetson_clocks": output}))

    assert state.clocks_locked is locked
    assert state.gpu_units == units
    assert {check.name: check.ok for check in FAMILY.judge(state, None)}["memory_clock"] is memory


GARBAGE = [b"", b"\xff\xfe\x00", b"NV Power Mode:", b"0" * 70_000, b"GPU MinFreq=x MaxFreq= CurrentFreq"]


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
async def test_output_that_makes_no_sense_is_unknown(garbage: bytes) -> None:
    reply = await FakeJetson().probe(FAMILY.request())
    broken = msgspec.structs.replace(
        reply,
        files=dict.fromkeys(reply.files, garbage),
        outputs=dict.fromkeys(reply.outputs, CommandOutput(0, garbage)),
    )

    state = FAMILY.read(broken)

    assert state.power_mode is None
    assert state.clocks_locked is None
    assert state.read_s == NOW_S
    assert {check.name: check.ok for check in FAMILY.judge(state, None)}["power_mode"] is None
