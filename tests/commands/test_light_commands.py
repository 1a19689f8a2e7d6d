"""Commands that start nothing: tasks, devices, doctor, runs of an empty home, usage errors."""

from __future__ import annotations

import os
import subprocess
import sys

import msgspec
import pytest

from edgelab.errors import ExitCode


@pytest.fixture
def edgelab(tmp_path):
    def call(*args: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "EDGELAB_HOME": str(tmp_path / "home")}
        command = [sys.executable, "-m", "edgelab", *args]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)

    return call


def test_tasks_list_goes_to_stdout_and_its_count_to_stderr(edgelab):
    done = edgelab("tasks", "list", "--level", "3")
    assert done.returncode == 0
    assert all(" L3 " in line for line in done.stdout.splitlines())
    assert done.stderr.strip().endswith("tasks")


def test_tasks_list_json_is_one_object(edgelab):
    done = edgelab("tasks", "list", "--backend", "cuda", "--json")
    report = msgspec.json.decode(done.stdout)
    assert report["schema"] == "edgelab.tasks/1"
    assert all("cuda" in task["backends"] for task in report["tasks"])


def test_tasks_show_has_provenance_and_source(edgelab):
    done = edgelab("tasks", "show", "softmax_attn_deit")
    assert "provenance" in done.stdout
    assert "class Model" in done.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["run", "softmax_atn_deit"], "softmax_attn_deit"),
        (["tasks", "show", "squeezenet"], "squeezenet1_1_224"),
        (["run", "softmax_attn_deit", "--device", "locla"], "Nearest: local"),
        (["run", "softmax_attn_deit", "--candidate", "absent.py"], "absent.py cannot be read"),
        (["run", "no/such/file.py"], "no/such/file.py"),
        (["runs", "show", "nothing"], "no run 'nothing'"),
        (["runs", "attach", "last"], "no run yet"),
        (["runs", "stop", "x"], "no run 'x'"),
        (["runs", "resume", "x"], "no run 'x'"),
        (["rnu"], "Nearest: run"),
        (["run"], "Missing argument"),
        (["run", "x", "--no-such-option"], "No such option"),
    ],
)
def test_usage_errors_are_one_message_and_status_2(edgelab, args, said):
    done = edgelab(*args)
    assert done.returncode == ExitCode.USAGE
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_error_is_an_object_too_with_json(edgelab):
    done = edgelab("run", "softmax_atn_deit", "--json")
    assert done.returncode == ExitCode.USAGE
    report = msgspec.json.decode(done.stdout)
    assert report["schema"] == "edgelab.run/1"
    assert "softmax_attn_deit" in report["error"]["advice"] + report["error"]["message"]


def test_a_candidate_that_is_no_text_is_refused(edgelab, tmp_path):
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00")
    done = edgelab("run", "softmax_attn_deit", "--candidate", str(tmp_path / "binary.py"))
    assert done.returncode == ExitCode.USAGE
    assert "not UTF-8" in done.stderr


def test_runs_list_of_an_empty_home_says_how_to_begin_and_creates_nothing(edgelab, tmp_path):
    done = edgelab("runs", "list")
    assert done.returncode == 0
    assert "edgelab run" in done.stderr
    assert not (tmp_path / "home").exists()


def test_devices_list(edgelab):
    assert edgelab("devices", "list").stdout.startswith("local")
    report = msgspec.json.decode(edgelab("devices", "list", "--json").stdout)
    names = [device["name"] for device in report["devices"]]
    assert names == ["local", "sim-orin", "sim-rk3588", "sim-phone"]


def test_doctor_says_what_is_there_and_what_each_missing_part_enables(edgelab):
    report = msgspec.json.decode(edgelab("doctor", "--json").stdout)
    assert report["schema"] == "edgelab.doctor/1"
    assert report["backends"]["llvm"]["ready"] is True
    assert report["backends"]["cuda"]["ready"] is False
    assert all(part["enables"] for part in report["parts"])


def test_doctor_without_a_compiler_is_not_ready(tmp_path):
    environment = {**os.environ, "PATH": str(tmp_path), "EDGELAB_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "edgelab", "doctor"],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert done.returncode == ExitCode.NOT_READY
    assert "C compiler           MISSING" in done.stdout
    assert "apt-get install gcc" in done.stdout


@pytest.mark.parametrize("command", [["run", "softmax_attn_deit"], ["runs", "list"], ["doctor"]])
def test_a_home_that_is_no_folder_is_one_message(tmp_path, command):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    done = start(["--home", str(blocked), *command])
    assert done.returncode == ExitCode.USAGE
    assert f"{blocked} is not a folder" in done.stderr
    assert "--home" in done.stderr


def test_a_home_that_cannot_be_written_is_one_message(tmp_path):
    done = start(["--home", "/proc/edgelab", "run", "softmax_attn_deit"])
    assert done.returncode == ExitCode.NOT_READY
    assert "/proc/edgelab cannot be written" in done.stderr


def test_the_app_without_a_terminal_says_what_to_use():
    done = start([])
    assert done.returncode == ExitCode.USAGE
    assert "needs a terminal" in done.stderr
    assert done.stdout == ""


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    command = f"{sys.executable} -m edgelab --home {tmp_path} tasks show squeezenet1_1_224 | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    assert done.returncode == 0
    assert not (tmp_path / "logs").exists()


def test_usage_errors_are_objects_too_with_json():
    done = start(["run", "--json"])
    assert done.returncode == ExitCode.USAGE
    assert "Missing argument" in msgspec.json.decode(done.stdout)["error"]["message"]


def test_export_does_not_write_over_a_file(edgelab, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("hours of work")
    done = edgelab("tasks", "export", "softmax_attn_deit", "--output", str(path))
    assert done.returncode == ExitCode.USAGE
    assert "--force" in done.stderr
    assert path.read_text() == "hours of work"


def start(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "edgelab", *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
