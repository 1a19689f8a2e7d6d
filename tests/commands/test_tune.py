"""`edgelab tune` as a person runs it: tuned end to end, interrupted, resumed, and used as a baseline."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from edgelab.errors import ExitCode
from edgelab.store.tuned import TunedStore
from tests.support import candidates
from tests.support.cli import Cli, interrupt, processes_of, wait_for

pytestmark = [pytest.mark.integration, pytest.mark.slow]

DENSE = str(candidates.DENSE)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "home")


def objects(stdout: str) -> list[dict]:
    return [msgspec.json.decode(line) for line in stdout.splitlines()]


def test_a_task_is_tuned_and_is_then_a_baseline(cli):
    done = cli("tune", DENSE, "--trials", "4", "--json")
    assert done.returncode == 0, done.stderr
    *events, summary = objects(done.stdout)
    assert [event["kind"] for event in events][:2] == ["tuning_started", "tuning_progress"]
    assert [event["kind"] for event in events][-1] == "tuning_ended"
    assert summary["schema"] == "edgelab.tune/1"
    (task,) = summary["tasks"]
    assert all(kernel["state"] in ("tuned", "plain") for kernel in task["kernels"])
    assert all(kernel["trials"] == 4 for kernel in task["kernels"])
    assert all(kernel["latency_s"]["tuned"] > 0 for kernel in task["kernels"])
    (run,) = msgspec.json.decode(cli("runs", "list", "--json").stdout)["runs"]
    assert (run["kind"], run["state"], run["task"]) == ("tune", "done", "dense")
    assert "tuned in" in cli("runs", "attach", "last").stderr

    status, result = cli.run_json(DENSE, "--baseline", "tuned")
    assert status in (ExitCode.DONE, ExitCode.NOT_READY), result
    assert result["verdict"] in ("ok", "unstable")
    assert (result["correct"], result["baseline"]["kind"]) == (True, "tuned")

    again = objects(cli("tune", DENSE, "--trials", "4", "--json", "--resume").stdout)
    assert not [event for event in again if event.get("kind") == "tuning_progress"]
    assert again[-1]["tasks"] == summary["tasks"]


def test_ctrl_c_keeps_what_was_measured_and_resume_goes_on(cli):
    process = cli.start("tune", DENSE, "--trials", "100")
    cli.wait_for_event("tuning_progress", trials=64)
    status, stderr = interrupt(process)
    assert status == ExitCode.INTERRUPTED
    assert "--resume" in stderr
    assert "Traceback" not in stderr
    wait_for(lambda: not processes_of(cli.home.root))
    (run,) = msgspec.json.decode(cli("runs", "list", "--json").stdout)["runs"]
    assert (run["kind"], run["state"]) == ("tune", "interrupted")
    refused = cli("runs", "resume", "last")
    assert refused.returncode == ExitCode.USAGE
    assert "edgelab tune dense --device local --resume" in refused.stderr
    with TunedStore(cli.home.database, cli.home.blobs) as store:
        before = store.kernels("dense", "linux-x86_64")
    assert [kernel.trials for kernel in before if kernel.trials] == [64]

    status, result = cli.run_json(DENSE, "--baseline", "tuned")
    assert status == ExitCode.NOT_READY
    assert "not finished" in result["failure"]["message"]

    done = cli("tune", DENSE, "--trials", "66", "--resume", "--json")
    assert done.returncode == 0, done.stderr
    progress = [event for event in objects(done.stdout) if event.get("kind") == "tuning_progress"]
    first = [event["trials"] for event in progress if event["digest"] == before[0].digest]
    assert first == [66]


def test_without_a_tuning_the_tuned_baseline_is_an_error_with_advice(cli):
    status, result = cli.run_json(DENSE, "--baseline", "tuned")
    assert status == ExitCode.NOT_READY
    assert result["failure"]["class"] == "infrastructure"
    assert "edgelab tune dense --device local" in result["failure"]["advice"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Nothing to tune"),
        (("no_such_task",), "no_such_task"),
        ((DENSE, "--device", "nowhere"), "nowhere"),
        ((DENSE, "--trials", "0"), "neither a number of trials nor auto"),
        ((DENSE, "--trials", "many"), "neither a number of trials nor auto"),
        ((DENSE, "--seed", "0"), "seed"),
    ],
)
def test_what_cannot_be_asked_for_is_said_at_once(cli, arguments, said):
    done = cli("tune", *arguments)
    assert done.returncode == ExitCode.USAGE
    assert said in done.stderr
    assert not cli.home.root.exists()


def test_a_backend_that_no_schedules_can_be_searched_for_is_refused(cli):
    done = cli("tune", DENSE, "--backend", "cuda")
    assert done.returncode == ExitCode.NOT_READY
    assert "cannot be searched yet" in done.stderr
    assert "--backend llvm" in done.stderr
