"""Phones are checked and never locked; what Android denies to Termux is unknown."""

from __future__ import annotations

import pytest

from edgelab.drivers.families.android import AndroidFamily
from edgelab.drivers.profile import load_profile
from edgelab.drivers.transport import CommandResult
from tests.drivers.families.acting import checks, lock, look, restore
from tests.drivers.families.fake_board import DISK, FakeBoard, FakeKernel, Tool, cpufreq, fixed_tool, proc
from tests.drivers.families.states import TEXTS, failed, source_of

FAMILY = AndroidFamily(load_profile("snapdragon-8-gen-3"))
KGSL = "/sys/class/kgsl/kgsl-3d0"
SUPPLY = "/sys/class/power_supply/battery"
DENIED = fixed_tool("Can't find service: thermalservice\n", 20)
BATTERY = "Current Battery Service state:\n  status: 2\n  level: 81\n  scale: 100\n  temperature: 301\n"


def heat(status: int, celsius: float, *, hal: bool = True) -> str:
    return (
        f"IsStatusOverride: false\nThermal Status: {status}\nCached temperatures:\n"
        "\tTemperature{mValue=99.9, mType=0, mName=CPU7, mStatus=0}\n"
        f"HAL Ready: {'true' if hal else 'false'}\n"
        + (
            "HAL connection:\n\tThermalHAL 2.0 connected: yes\nCurrent temperatures from HAL:\n"
            f"\tTemperature{{mValue={celsius}, mType=0, mName=CPU7, mStatus=0}}\n"
            "\tTemperature{mValue=36.5, mType=2, mName=battery, mStatus=0}\n"
            "\tTemperature{mValue=88.0, mType=8, mName=socd, mStatus=0}\n"
            if hal
            else ""
        )
    )


def fake_phone(thermal: str | None = None, battery: str | None = BATTERY) -> FakeBoard:
    """Return a phone; None for what Android denies."""
    files = proc("")
    for path in (
        "/proc/stat",
        "/sys/class/thermal/thermal_zone0/temp",
        "/sys/class/thermal/thermal_zone0/type",
    ):
        del files[path]
    files |= cpufreq(0, "0 1", (364_800, 2_265_600)) | cpufreq(7, "7", (480_000, 3_302_400))
    files |= {
        f"{KGSL}/gpuclk": "220000000",
        f"{KGSL}/max_gpuclk": "903000000",
        f"{KGSL}/gpubusypercentage": "4 %",
    }
    texts = {"thermalservice": thermal, "battery": battery}

    def dumpsys(argv: list[str], stdin: bytes) -> CommandResult:
        text = texts[argv[1]]
        return DENIED(argv, stdin) if text is None else CommandResult(0, text.encode(), b"")

    properties = {
        "ro.soc.model": "SM8650",
        "ro.product.model": "2312DRA50G",
        "ro.build.version.release": "14",
    }
    tools: dict[str, Tool] = {
        "/system/bin/dumpsys": dumpsys,  # type: ignore[dict-item]
        "/system/bin/getprop": lambda argv, stdin: CommandResult(0, properties[argv[1]].encode(), b""),
        "df": DISK,
    }
    return FakeBoard(FakeKernel(files), tools)


async def test_a_cool_charged_phone_is_ready() -> None:
    board = fake_phone(heat(0, 41.0))
    found = await checks(board, FAMILY)
    state = await look(board, FAMILY)

    assert failed(found) == []
    assert state.model == "2312DRA50G"
    assert state.system == "Android 14"
    assert state.cpu_ticks is None
    assert found["identity"].ok
    assert found["temperature"].value == "41.0 °C (CPU7)"
    assert found["battery"].value == "81 %, charging"
    assert found["throttling"].ok
    assert "sudo" not in found


FAULTS = {
    "throttled": (fake_phone(heat(2, 55.0)), ["throttling"]),
    "hot": (fake_phone(heat(1, 71.0)), ["temperature"]),
    "empty": (fake_phone(heat(0, 40.0), BATTERY.replace("level: 81", "level: 9")), ["battery"]),
}


@pytest.mark.parametrize(("board", "names"), FAULTS.values(), ids=FAULTS.keys())
async def test_what_spoils_a_measurement_on_a_phone_is_found(board: FakeBoard, names: list[str]) -> None:
    assert failed(await checks(board, FAMILY)) == names


async def test_what_android_denies_is_unknown_and_does_not_stop_a_run() -> None:
    found = await checks(fake_phone(None, None), FAMILY)

    assert failed(found) == []
    for name in ("temperature", "throttling", "battery"):
        assert found[name].ok is None
        assert found[name].reason
        assert not found[name].required
    assert "Can't find service" in found["throttling"].reason


async def test_a_thermal_service_without_its_hal_knows_nothing() -> None:
    found = await checks(fake_phone(heat(0, 0.0, hal=False)), FAMILY)

    assert found["throttling"].ok is None
    assert found["temperature"].ok is None


async def test_real_output_with_volts_and_percent_is_no_temperature() -> None:
    board = fake_phone()
    text = (TEXTS / "android_thermal_volts_percent.txt").read_bytes()
    board.tools["/system/bin/dumpsys"] = lambda argv, stdin: CommandResult(0, text, b"")

    state = await look(board, FAMILY)
    assert state.throttling is False
    hottest = state.hottest()
    assert hottest is not None
    assert (hottest.zone, hottest.celsius) == ("CPU7", 52.3)


async def test_termux_and_the_kernel_stand_in_for_a_denied_battery_service() -> None:
    board = fake_phone(None, None)
    board.files.update({f"{SUPPLY}/capacity": "64", f"{SUPPLY}/status": "Discharging"})
    found = (await checks(board, FAMILY))["battery"]
    assert (found.value, source_of(found)) == ("64 %", f"{SUPPLY}/capacity")

    board.tools["termux-battery-status"] = fixed_tool(
        '{"percentage": 55, "status": "CHARGING", "plugged": "AC"}'
    )
    found = (await checks(board, FAMILY))["battery"]
    assert (found.value, source_of(found)) == ("55 %, charging", "termux-battery-status")


async def test_a_phone_is_never_locked() -> None:
    board = fake_phone(heat(0, 41.0))
    before = board.nodes()

    outcome = await lock(board, FAMILY)

    assert not outcome.done
    assert "overheat" in outcome.problem
    assert outcome.advice
    assert board.nodes() == before
    assert (await restore(board, FAMILY)).done
    assert board.nodes() == before
