from __future__ import annotations

import json
import os
import select
import time
from pathlib import Path

import numpy as np
import pytest

from tests.worker.support import LIMITS, WorkerUnderTest

pytestmark = pytest.mark.integration

RANDOM = np.random.default_rng(7)
X = RANDOM.random(1024, dtype=np.float32) + 0.5


def test_hello_describes_the_worker_and_its_sandbox(shared_worker: WorkerUnderTest):
    hello = shared_worker.op("hello")
    assert hello["event"] == "done"
    assert hello["protocol"] == 1
    assert hello["pid"] == shared_worker.process.pid
    assert hello["tvm"].startswith("0.")
    assert hello["sandbox"]["seccomp"] == "on"


def test_right_program_is_verified_and_leaves_cleanly(shared_worker: WorkerUnderTest, artefacts: Path):
    loaded = shared_worker.load(artefacts / "copy.so")
    assert loaded["event"] == "done"
    assert loaded["rss_bytes"] > 1 << 20
    for _ in range(3):
        done = shared_worker.verify((X,), (X,))
        assert (done["ok"], done["mismatched"], done["total"]) == (True, 0, 1024)
    assert shared_worker.op("unload", program="candidate")["exit"] == "exit 0"


def test_outputs_of_a_tuple_are_compared_in_order(shared_worker: WorkerUnderTest, artefacts: Path):
    shared_worker.load(artefacts / "pair_of_outputs.so")
    x = RANDOM.standard_normal((8, 4), dtype=np.float32)
    positive = np.maximum(x, 0)
    assert shared_worker.verify((x,), (positive, x.sum(axis=1)))["ok"]
    wrong = shared_worker.verify((x,), (positive, positive.sum(axis=1)))
    assert (wrong["ok"], wrong["structure_ok"], wrong["output_index"]) == (False, True, 1)
    missing = shared_worker.verify((x,), (positive,))
    assert missing["message"] == "main returned 2 tensors, expected 1"


def test_mismatch_names_first_and_worst_element(shared_worker: WorkerUnderTest, artefacts: Path):
    shared_worker.load(artefacts / "copy.so")
    expected = X.copy()
    expected[[5, 900]] += [1, 3]
    done = shared_worker.verify((X,), (expected,))
    assert (done["ok"], done["index"], done["mismatched"]) == (False, [5], 2)
    assert done["got"] == pytest.approx(X[5])
    assert done["expected"] == pytest.approx(X[5] + 1)
    assert done["worst"]["index"] == [900]
    assert done["max_abs_error"] == pytest.approx(3, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wrong_dtype", "output 0 has dtype float64, expected float32"),
        ("wrong_shape", "output 0 has shape [1000], expected [1024]"),
    ],
)
def test_structural_mismatch(shared_worker: WorkerUnderTest, artefacts: Path, name: str, message: str):
    shared_worker.load(artefacts / f"{name}.so")
    done = shared_worker.verify((X,), (X,))
    assert (done["ok"], done["structure_ok"], done["message"]) == (False, False, message)


def test_nan_output_never_matches(shared_worker: WorkerUnderTest, artefacts: Path):
    shared_worker.load(artefacts / "nan.so")
    for expected in (X, np.full_like(X, np.nan)):
        done = shared_worker.verify((X,), (expected,))
        assert (done["ok"], done["mismatched"], done["got"], done["max_abs_error"]) == (
            False,
            1024,
            "nan",
            None,
        )


def test_what_a_program_leaves_unwritten_is_poison(shared_worker: WorkerUnderTest, artefacts: Path):
    """Neither zeros of fresh pages nor the right values of an earlier call may pass as written."""
    shared_worker.load(artefacts / "half_written.so")
    zeros = np.concatenate([X[:512], np.zeros(512, dtype=np.float32)])
    for expected in (zeros, zeros, X, X):
        done = shared_worker.verify((X,), (expected,))
        assert (done["ok"], done["index"], done["mismatched"]) == (False, [512], 512)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("times_zero", X),
        ("times_zero_small", X[:1]),
        ("times_zero_large", np.resize(X, 10_000_000)),
        ("times_zero_half", X.astype(np.float16)),
        ("times_zero_double", X.astype(np.float64)),
    ],
)
def test_poison_is_not_a_number_whatever_the_size_and_type(
    shared_worker: WorkerUnderTest, artefacts: Path, name: str, expected: np.ndarray
):
    """`+ y * 0` with a y that was never written vanishes for every number but not for NaN."""
    shared_worker.load(artefacts / f"{name}.so")
    done = shared_worker.verify((X,), (expected,))
    assert (done["ok"], done["got"], done["mismatched"]) == (False, "nan", expected.size)


def test_what_a_call_leaves_in_a_workspace_does_not_help_the_next_one(
    shared_worker: WorkerUnderTest, artefacts: Path
):
    shared_worker.load(artefacts / "right_after_first.so")
    for _ in range(4):
        assert not shared_worker.verify((X,), (X,))["ok"]


def test_program_that_stops_working_after_the_checked_calls_is_found(
    shared_worker: WorkerUnderTest, artefacts: Path
):
    for name in ("candidate", "baseline"):
        shared_worker.load(artefacts / "lazy_after_100.so", name)
        shared_worker.op("prepare_timing", program=name, inputs=shared_worker.arrays("in", X))
    for _ in range(3):
        assert shared_worker.verify((X,), (X,))["ok"]
    plan = {"pairs": 10, "calls_per_block": 20, "warm_calls": 0, "first": 0, "time_s": 20}
    assert shared_worker.op("pair", a="candidate", b="baseline", **plan)["event"] == "done"
    other = X[::-1].copy()
    done = shared_worker.verify((other,), (other,))
    assert (done["ok"], done["message"][:46]) == (False, "right in a fresh process but not after earlier")


def test_threads_of_a_program_exist_once_it_is_loaded_and_sleep_when_idle(
    shared_worker: WorkerUnderTest, artefacts: Path
):
    cores = os.cpu_count() or 1
    pid = shared_worker.load(artefacts / "parallel.so", threads=cores)["pid"]
    threads = {task.name for task in Path(f"/proc/{pid}/task").iterdir()}
    assert len(threads) == cores
    assert shared_worker.verify((X,), (X,))["ok"]
    assert {task.name for task in Path(f"/proc/{pid}/task").iterdir()} == threads
    shared_worker.op("sample")  # A round trip, in which the pool goes to sleep (0.4 ms).
    before = cpu_ticks(pid)
    select.select([], [], [], 0.5)  # The span that is measured.
    # One tick is 10 ms; a spinning thread would have used 50.
    assert cpu_ticks(pid) - before <= 2


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_capture_of_a_program_is_private(worker: WorkerUnderTest, artefacts: Path):
    pid = worker.load(artefacts / "copy.so")["pid"]
    assert Path(f"/proc/{pid}/fd/1").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("name", "failure_class", "words"),
    [
        ("far_store", "memory", "segmentation fault"),
        ("huge_tensor", "memory", "bad_alloc"),
        ("huge_workspace", "memory", ""),
        ("endless", "timeout", "did not answer within 1 s"),
        ("leave", "crash", "exit 0"),
        ("forge", "hack", "tampered"),
    ],
)
def test_failing_program_is_classified_and_the_next_one_runs(
    shared_worker: WorkerUnderTest, artefacts: Path, name: str, failure_class: str, words: str
):
    shared_worker.load(artefacts / f"{name}.so")
    error = shared_worker.verify((X,), (X,), time_s=1)
    assert (error["event"], error["class"], error["program"]) == ("error", failure_class, "candidate"), error
    assert words in error["message"]
    started_s = time.monotonic()
    assert shared_worker.load(artefacts / "copy.so")["event"] == "done"
    assert time.monotonic() - started_s < 0.5
    assert shared_worker.verify((X,), (X,))["ok"]


def test_near_store_hurts_its_own_process_alone(shared_worker: WorkerUnderTest, artefacts: Path):
    """Sixty-four bytes past the output: what they hit, if anything, is up to the heap of that process."""
    shared_worker.load(artefacts / "near_store.so")
    found = shared_worker.verify((X,), (X,))
    done = shared_worker.op("unload", program="candidate")
    if found["event"] == "error":
        assert found["class"] == "memory", found
        assert "SIGABRT" in found["message"] or "SIGSEGV" in found["message"]
        assert found["detail"]
    elif not done["clean"]:
        assert done["exit"] in ("signal SIGABRT", "signal SIGSEGV"), done
        assert done["stderr_tail"]
    shared_worker.load(artefacts / "copy.so")
    assert shared_worker.verify((X,), (X,))["ok"]


def test_missing_symbol_is_an_api_error(shared_worker: WorkerUnderTest, artefacts: Path):
    shared_worker.load(artefacts / "missing_symbol.so")
    error = shared_worker.verify((X,), (X,))
    assert (error["event"], error["class"]) == ("error", "syntax_api")
    assert "no_such_function" in error["message"] + error["detail"]


def test_candidate_code_cannot_leave_its_sandbox(shared_worker: WorkerUnderTest, artefacts: Path):
    """socket, open, fork, kill, system, prctl and setpgid, called from the compiled program, all fail."""
    shared_worker.load(artefacts / "escape.so")
    expected = np.zeros(1024, dtype=np.float32)
    expected[:7] = -1
    expected[4] = 127 << 8  # What system() returns if it cannot start a shell.
    done = shared_worker.verify((X,), (expected,))
    assert done["ok"], done["message"]


def test_output_of_a_program_is_kept_but_bounded(shared_worker: WorkerUnderTest, artefacts: Path):
    shared_worker.load(artefacts / "chatter.so")
    assert shared_worker.verify((X,), (X,))["ok"]
    tail = shared_worker.op("unload", program="candidate")["stderr_tail"]
    assert "no play" in tail
    assert len(tail) <= 8_000


def test_file_that_is_no_library_is_refused(shared_worker: WorkerUnderTest):
    sha = shared_worker.put(b"\x7fELF and nothing else")
    error = shared_worker.op("load", program="candidate", artefact=sha, limits=LIMITS)
    assert (error["event"], error["class"]) == ("error", "syntax_api")


def test_pairs_alternate_and_clocks_agree(shared_worker: WorkerUnderTest, artefacts: Path):
    inputs = shared_worker.arrays(
        "in", RANDOM.random((32, 64), dtype=np.float32), RANDOM.random((64, 32), dtype=np.float32)
    )
    for name in ("candidate", "baseline"):
        shared_worker.load(artefacts / "matmul_small.so", name)
        assert shared_worker.op("prepare_timing", program=name, inputs=inputs)["event"] == "done"
    done = shared_worker.op(
        "pair",
        a="candidate",
        b="baseline",
        pairs=200,
        calls_per_block=10,
        warm_calls=1,
        first=1,
        time_s=60,
    )
    assert done["event"] == "done", done
    assert len(done["a_s"]) == len(done["b_s"]) == len(done["parent_s"]) == 200
    ratios = sorted(b / a for a, b in zip(done["a_s"], done["b_s"], strict=True))
    # Loose, because the machine may be busy; benchmarks/ measures the real quality.
    assert 0.9 < ratios[100] < 1.1
    assert all(parent[0] >= a * 10 for a, parent in zip(done["a_s"], done["parent_s"], strict=True))


def test_a_block_of_one_program_is_timed_as_in_pairs(shared_worker: WorkerUnderTest, artefacts: Path):
    inputs = shared_worker.arrays("in", X)
    shared_worker.load(artefacts / "copy.so")
    assert shared_worker.op("prepare_timing", program="candidate", inputs=inputs)["event"] == "done"
    plan = {"program": "candidate", "calls_per_block": 50, "warm_calls": 2, "time_s": 20}
    done = shared_worker.op("block", **plan)
    assert done["event"] == "done", done
    assert 0 < done["latency_s"] * 50 <= done["parent_s"]
    for wrong in ({"calls_per_block": 0}, {"warm_calls": -1}, {"program": "absent"}):
        assert shared_worker.op("block", **(plan | wrong))["event"] == "error"


def test_pairs_stop_when_the_time_is_over(shared_worker: WorkerUnderTest, artefacts: Path):
    inputs = shared_worker.arrays("in", X)
    for name in ("candidate", "baseline"):
        shared_worker.load(artefacts / "copy.so", name)
        shared_worker.op("prepare_timing", program=name, inputs=inputs)
    plan = {"pairs": 1_000_000, "calls_per_block": 1000, "warm_calls": 0, "first": 0, "time_s": 0.3}
    done = shared_worker.op("pair", a="candidate", b="baseline", **plan)
    assert 0 < len(done["a_s"]) == len(done["b_s"]) < 1_000_000


def test_memory_of_a_call_is_above_the_empty_child(shared_worker: WorkerUnderTest, artefacts: Path):
    shared_worker.load(artefacts / "copy.so")
    shared_worker.op("prepare_timing", program="candidate", inputs=shared_worker.arrays("in", X))
    done = shared_worker.op("memory", program="candidate")
    assert done["peak_rss_bytes"] > done["baseline_rss_bytes"] > 1 << 20


def test_sample_has_every_reading_or_none(shared_worker: WorkerUnderTest):
    done = shared_worker.op("sample")
    assert {"cpu_freq_hz", "temperature_c", "load_1min", "memory_available_bytes"} < set(done)
    assert done["nodes"] == {}


def test_sample_reads_the_nodes_it_is_given(shared_worker: WorkerUnderTest, tmp_path: Path):
    node = tmp_path / "cur_freq"
    node.write_text("850000000\n")
    done = shared_worker.op("sample", nodes=[str(node), str(tmp_path / "absent")])
    assert done["nodes"] == {str(node): "850000000\n", str(tmp_path / "absent"): None}


@pytest.mark.parametrize(
    ("op", "fields", "words"),
    [
        ("dance", {}, "unknown operation 'dance'"),
        ("load", {"program": "x"}, "limits is an object"),
        ("load", {"program": "x", "artefact": "../../etc/passwd", "limits": LIMITS}, "not a SHA-256"),
        ("load", {"program": "x", "artefact": "0" * 64, "limits": LIMITS}, "cannot be opened"),
        ("verify", {"program": "nobody"}, "no program named 'nobody'"),
        ("sample", {"nodes": "/proc/uptime"}, "nodes is a list"),
        ("sample", {"nodes": ["cur_freq"]}, "absolute paths"),
        ("sample", {"nodes": ["/x"] * 257}, "at most 256"),
        ("pair", {"a": 1}, "a is a text"),
        ("unload", {"program": "nobody"}, "no program named 'nobody'"),
    ],
)
def test_bad_request_is_an_error_and_nothing_more(
    shared_worker: WorkerUnderTest, op: str, fields: dict, words: str
):
    error = shared_worker.op(op, **fields)
    assert (error["event"], error["class"]) == ("error", "infrastructure")
    assert words in error["message"]


def test_unusable_tolerance_is_an_error(shared_worker: WorkerUnderTest, artefacts: Path):
    shared_worker.load(artefacts / "copy.so")
    x = shared_worker.arrays("in", X)
    out = shared_worker.arrays("out", X)
    tolerance = {"rtol": -1, "atol": 0}
    error = shared_worker.op(
        "verify", program="candidate", inputs=x, expected=out, tolerance=tolerance, time_s=5
    )
    assert (error["event"], error["class"]) == ("error", "infrastructure")


def test_malformed_lines_get_an_error_and_the_worker_goes_on(worker: WorkerUnderTest):
    for line in (b"garbage\n", b"[]\n", b"\xff\xfe\n", b"\n", b"{" * 5000 + b"\n", b"x" * (3 << 20) + b"\n"):
        worker.send_raw(line)
        event = worker.event()
        assert (event["id"], event["event"], event["class"]) == (0, "error", "infrastructure")
    worker.send_raw(json.dumps({"id": 5}).encode() + b"\n")
    assert worker.event()["id"] == 5
    assert worker.op("sample")["event"] == "done"


def test_shutdown_is_answered_before_the_end(worker: WorkerUnderTest):
    assert worker.op("shutdown")["event"] == "done"
    assert worker.process.wait(20) == 0
