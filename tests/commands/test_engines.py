"""`edgelab engines` as a person runs it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from edgelab.bench.engines.registry import ENGINES
from edgelab.errors import ExitCode
from edgelab.store.blobs import BlobStore
from tests.support import candidates
from tests.support.cli import Cli, interrupt, wait_for
from tests.support.task_files import runs


@pytest.fixture
def cli(tmp_path) -> Cli:
    return Cli(tmp_path / "home")


def engine_children(home: Path) -> list[int]:
    """Return the engine processes that work for this home: their caches lie in it."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"={home}".encode() in (path / "environ").read_bytes():
                line = (path / "cmdline").read_bytes()
                found += [int(path.name)] if b"engine_child" in line else []
        except OSError:
            continue
    return found


def test_without_tasks_it_lists_engines_and_makes_no_home(cli):
    done = cli("engines")
    assert done.returncode == ExitCode.DONE
    assert [line.split()[0] for line in done.stdout.splitlines()] == [engine.name for engine in ENGINES]
    done = cli("engines", "--engine", "torch", "--json")
    report = msgspec.json.decode(done.stdout)
    assert report["schema"] == "edgelab.engines/1"
    assert [engine["name"] for engine in report["engines"]] == ["torch"]
    assert report["engines"][0]["version"]
    assert report["results"] == []
    assert not cli.home.root.exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["x_no_such_task"], "no task 'x_no_such_task'"),
        (["softmax_attn_deit", "--engine", "onnxruntine"], "Nearest: onnxruntime"),
        (["softmax_attn_deit", "--baseline", "tuned"], "no engine 'tuned'"),
        (["softmax_attn_deit", "--device", "sim-orin"], "Engines run on this machine only"),
        (["softmax_attn_deit", "--device", "locla"], "Nearest: local"),
        (["softmax_attn_deit", "--threads", "0"], "--threads"),
    ],
)
def test_what_cannot_be_asked_for_is_a_usage_error(cli, args, said):
    done = cli("engines", *args)
    assert done.returncode == ExitCode.USAGE
    assert said in done.stderr
    assert not done.stdout


@pytest.mark.integration
@pytest.mark.slow
def test_a_task_is_measured_printed_and_kept(cli):
    args = (
        "engines",
        str(candidates.TINY),
        "--engine",
        "torch",
        "--threads",
        "1",
        "--max-time",
        "0.5",
        "--json",
    )
    done = cli(*args)
    assert done.returncode in (ExitCode.DONE, ExitCode.NOT_READY), done.stderr
    (result,) = msgspec.json.decode(done.stdout)["results"]
    assert result["verdict"] in ("ok", "unstable")
    assert result["threads"] == 1
    assert "agree with the reference" in done.stderr
    with cli.reader() as reader:
        (row,) = reader.engine_measurements()
    assert (row.engine, row.device, row.verdict) == ("torch", "local", result["verdict"])
    assert row.baseline_speedup == pytest.approx(result["baseline_speedup"])
    series = msgspec.json.decode(BlobStore(cli.home.blobs).get(row.series_blob))
    assert len(series["engine_s"]) == len(series["baseline_s"]) == row.pairs
    assert sorted(series["engine_s"])[row.pairs // 2] == pytest.approx(row.latency_engine_s, rel=0.5)
    assert not engine_children(cli.home.root)


@pytest.mark.integration
@pytest.mark.slow
def test_ctrl_c_ends_with_status_4_and_leaves_no_process(cli):
    process = cli.start("engines", str(candidates.TINY), "--engine", "torch")
    pids = wait_for(lambda: engine_children(cli.home.root))
    status, stderr = interrupt(process)
    assert status == ExitCode.INTERRUPTED
    assert "Interrupted; 0 measurements are kept." in stderr
    assert "Traceback" not in stderr
    assert not any(map(runs, pids))


@pytest.mark.integration
@pytest.mark.slow
def test_a_killed_command_takes_its_engine_along(cli):
    process = cli.start("engines", str(candidates.TINY), "--engine", "torch")
    pids = wait_for(lambda: engine_children(cli.home.root))
    process.kill()
    process.communicate()
    wait_for(lambda: not any(map(runs, pids)), limit_s=20)


@pytest.mark.integration
@pytest.mark.slow
def test_a_terminated_command_ends_in_good_order(cli):
    process = cli.start("engines", str(candidates.TINY), "--engine", "torch", "--json")
    pids = wait_for(lambda: engine_children(cli.home.root))
    process.terminate()
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert "Interrupted" in msgspec.json.decode(stdout)["error"]["message"]
    assert "Traceback" not in stderr
    assert not any(map(runs, pids))
