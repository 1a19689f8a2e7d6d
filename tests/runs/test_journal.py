"""The journal: whole entries survive torn ones, and nothing is appended to a torn line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgelab.errors import NotReadyError
from edgelab.runs.journal import Attempt, Journal, Outcome
from tests.support.records import a_measurement, a_result


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def test_absent_journal_is_empty(path):
    assert Journal(path).entries() == []
    assert Journal(path).outcome() is None


def test_entries_come_back_in_order(path):
    journal = Journal(path)
    outcome = Outcome(result=a_result(), measurement=a_measurement())
    journal.append(Attempt(pid=7, time_s=1.5))
    journal.append(outcome)
    assert journal.entries() == [Attempt(pid=7, time_s=1.5), outcome]
    assert journal.outcome() == outcome


@given(cut=st.integers(0, 400))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_torn_line_costs_only_itself(tmp_path, cut):
    path = tmp_path / "torn.jsonl"
    path.unlink(missing_ok=True)
    journal = Journal(path)
    journal.append(Attempt(pid=1, time_s=1.0))
    kept = path.stat().st_size
    journal.append(Outcome(result=a_result()))
    path.write_bytes(path.read_bytes()[: kept + min(cut, path.stat().st_size - kept)])
    whole = len(journal.entries())
    journal.append(Attempt(pid=2, time_s=2.0))
    entries = journal.entries()
    assert entries[0] == Attempt(pid=1, time_s=1.0)
    assert entries[-1] == Attempt(pid=2, time_s=2.0)
    assert len(entries) == whole + 1


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(NotReadyError, match=r"journal\.jsonl"):
        Journal(tmp_path / "absent" / "journal.jsonl").append(Attempt(pid=1, time_s=1.0))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no /dev/full")
def test_a_full_disk_is_an_error_not_a_silent_loss(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.symlink_to("/dev/full")
    with pytest.raises(NotReadyError, match="No space left"):
        Journal(path).append(Attempt(pid=1, time_s=1.0))
