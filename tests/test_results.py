"""The verdict object: its JSON is the contract of `edgelab run --json`, its status that of the command."""

from __future__ import annotations

import msgspec
import pytest

from edgelab.errors import ExitCode
from edgelab.results import Failure, RunResult
from tests.support.records import a_result

CONTRACT = {
    "schema", "run", "task", "device", "backend", "simulated", "verdict", "failure", "compiled", "correct", "latency_s",
    "speedup", "speedup_ci95", "quality", "rcv", "peak_memory_bytes", "baseline",
}  # fmt: skip


def test_json_has_every_field_of_the_contract():
    report = msgspec.to_builtins(a_result(failure=Failure("numeric", "m", "d")))
    assert report.keys() >= CONTRACT
    assert report["schema"] == "edgelab.run/1"
    assert report["failure"].keys() >= {"class", "message", "detail"}
    assert report["latency_s"].keys() == {"candidate", "baseline"}
    assert report["rcv"].keys() == {"candidate", "baseline", "speedup"}
    assert "kind" in report["baseline"]


def test_json_round_trips():
    result = a_result(verdict="failed", failure=Failure("crash", "m", exit_code=1))
    assert msgspec.json.decode(msgspec.json.encode(result), type=RunResult) == result


@pytest.mark.parametrize(
    ("verdict", "failure", "status"),
    [
        ("ok", None, ExitCode.DONE),
        ("unstable", None, ExitCode.NOT_READY),
        ("failed", Failure("numeric", "m"), ExitCode.WORK_FAILED),
        ("failed", Failure("infrastructure", "m", exit_code=3), ExitCode.NOT_READY),
        ("failed", Failure("infrastructure", "m", exit_code=2), ExitCode.USAGE),
        ("failed", Failure("infrastructure", "m", exit_code=5), ExitCode.INTERNAL),
    ],
)
def test_exit_code(verdict, failure, status):
    assert a_result(verdict=verdict, failure=failure).exit_code is status
