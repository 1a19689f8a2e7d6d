"""What state a run is shown in, and stopping runs that are not there."""

from __future__ import annotations

import os

import pytest

from edgelab.errors import UsageError
from edgelab.home import Home
from edgelab.runs import control
from edgelab.runs.folder import RunFolder
from edgelab.runs.spec import RunSpec
from tests.support.records import a_run


@pytest.fixture
def home(tmp_path) -> Home:
    home = Home(tmp_path).ensure()
    RunFolder(home, "r1").create(RunSpec(task="t"))
    return home


@pytest.mark.parametrize(
    ("stored", "alive", "shown"),
    [
        ("queued", True, "running"),
        ("queued", False, "lost"),
        ("running", True, "running"),
        ("running", False, "lost"),
        ("interrupted", False, "interrupted"),
        ("interrupted", True, "running"),
        ("done", False, "done"),
        ("done", True, "done"),
    ],
)
def test_state_is_what_the_lock_says(home, stored, alive, shown):
    lock = RunFolder(home, "r1").acquire() if alive else None
    assert control.state(home, a_run("r1", state=stored)) == shown
    if lock is not None:
        os.close(lock)


def test_stopping_a_run_that_is_not_alive_is_a_usage_error(home):
    with pytest.raises(UsageError, match="not running"):
        control.stop(home, "r1")
    with pytest.raises(UsageError, match="not running"):
        control.stop(home, "never")
