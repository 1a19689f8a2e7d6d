from __future__ import annotations

from pathlib import Path

from edgelab.worker.sample import read_nodes, sample


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_board_with_everything(tmp_path: Path):
    for core, khz in (("cpu0", "1800000\n"), ("cpu1", "2200000\n"), ("cpu2", "garbage")):
        write(tmp_path, f"sys/devices/system/cpu/{core}/cpufreq/scaling_cur_freq", khz)
    for zone, value in (("0", "45500"), ("1", "61000"), ("2", "-256000"), ("3", "")):
        write(tmp_path, f"sys/class/thermal/thermal_zone{zone}/temp", value)
    write(tmp_path, "proc/loadavg", "0.25 0.1 0.1 1/100 5\n")
    write(tmp_path, "proc/meminfo", "MemTotal: 10 kB\nMemAvailable:    2048 kB\n")
    assert sample(tmp_path) == {
        "cpu_freq_hz": 2.2e9,
        "temperature_c": 61.0,
        "load_1min": 0.25,
        "memory_available_bytes": 2048 * 1024,
    }


def test_clock_of_cpuinfo_where_there_is_no_cpufreq(tmp_path: Path):
    write(tmp_path, "proc/cpuinfo", "model : x\ncpu MHz : 2400.5\ncpu MHz : 1200\n")
    assert sample(tmp_path)["cpu_freq_hz"] == 2400.5e6


def test_unknown_is_none_not_zero(tmp_path: Path):
    assert set(sample(tmp_path).values()) == {None}


def test_nodes_are_read_as_text_and_bounded(tmp_path: Path):
    write(tmp_path, "cur_freq", "1300500000\n")
    write(tmp_path, "long", "x" * 10_000)
    (tmp_path / "odd").write_bytes(b"\xff1\n")
    paths = [str(tmp_path / name) for name in ("cur_freq", "long", "odd", "absent")]
    assert list(read_nodes(paths).values()) == ["1300500000\n", "x" * 4096, "\ufffd1\n", None]
