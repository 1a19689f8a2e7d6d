"""The status of a command by the verdicts it got."""

from __future__ import annotations

import pytest

from edgelab.bench.engines.result import EngineBaseline, EngineResult, exit_code
from edgelab.errors import ExitCode


@pytest.mark.parametrize(
    ("verdicts", "named", "status"),
    [
        ([], False, ExitCode.DONE),
        (["ok", "unsupported", "unavailable"], False, ExitCode.DONE),
        (["ok", "unsupported"], True, ExitCode.WORK_FAILED),
        (["ok", "unavailable"], True, ExitCode.NOT_READY),
        (["ok", "unstable"], False, ExitCode.NOT_READY),
        (["unstable", "wrong"], False, ExitCode.WORK_FAILED),
        (["failed", "ok"], False, ExitCode.WORK_FAILED),
    ],
)
def test_status(verdicts, named, status):
    results = [
        EngineResult(task="t", engine="e", verdict=verdict, baseline=EngineBaseline("plain"))
        for verdict in verdicts
    ]
    assert exit_code(results, named=named) is status
