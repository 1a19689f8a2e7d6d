"""An engine's child process: what it answers, how its failures read, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

import numpy as np
import pytest

from edgelab.bench.engines.engine import Engine, EngineFailure
from edgelab.bench.engines.engine_process import EngineProcess, _answer
from edgelab.bench.engines.messages import Preparation
from edgelab.bench.reference import ReferenceBundle, prepare
from edgelab.bench.tasks import TaskSpec
from edgelab.worker.channel import Channel, ChannelCorrupt, Kind
from tests.support.engines import acting
from tests.support.task_files import SOUND, runs, until, write_task

SEED = 11


@pytest.fixture(scope="module")
def task(tmp_path_factory) -> TaskSpec:
    return write_task(tmp_path_factory.mktemp("task"), SOUND)


@pytest.fixture(scope="module")
def bundle(task, tmp_path_factory) -> ReferenceBundle:
    return asyncio.run(prepare(task, tmp_path_factory.mktemp("cache"), seeds=(SEED, 23)))


@pytest.fixture
def request_(task, bundle, tmp_path) -> Preparation:
    source = tmp_path / "source.py"
    source.write_text(task.source())
    return Preparation(
        task=task.name,
        path=str(task.path),
        source_path=str(source),
        digest=task.digest,
        bundle=str(bundle.folder),
        example_inputs=str(bundle.inputs_path(SEED)),
        cache=str(tmp_path),
        threads=1,
        memory_bytes=4 << 30,
    )


def process(engine: Engine, cache: Path) -> EngineProcess:
    return EngineProcess(engine, threads=1, cache=cache)


@pytest.mark.integration
async def test_prepare_call_and_block(bundle, request_, tmp_path):
    async with process(acting("ReportingRunner"), tmp_path) as engine:
        prepared = await engine.prepare(request_, 60)
        assert prepared.settings["threads"] == "1"
        assert prepared.settings["OMP_NUM_THREADS"] == "1"
        assert prepared.settings["GOMP_SPINCOUNT"] == "10000"
        for seed in (SEED, 23):
            await engine.take(bundle.inputs_path(seed), renew=seed != SEED)
            (got,) = await engine.call(30)
            with np.load(bundle.expected_path(seed)) as expected:
                np.testing.assert_allclose(got, expected["out0"], rtol=1e-5)
        begin_s = time.perf_counter()
        block = await engine.block(calls_per_block=1000, warm_calls=10, time_s=30)
        took_s = time.perf_counter() - begin_s
        assert 0 < block.latency_s * 1000 <= block.parent_s <= took_s
        pid = engine.pid
    assert not runs(pid)


@pytest.mark.integration
async def test_what_libraries_print_is_not_taken_for_an_answer(bundle, request_, tmp_path):
    async with process(acting("TalkativeRunner"), tmp_path) as engine:
        await engine.prepare(request_, 60)
        await engine.take(bundle.inputs_path(SEED))
        assert (await engine.call(30))[0].shape == (4, 3)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("runner", "problem", "said"),
    [
        (
            "RefusingRunner",
            "unsupported",
            "refusing: it does not take this task: NotImplementedError: operator",
        ),
        ("CrashingRunner", "failed", r"was killed by SIGSEGV; its last words: about to fall"),
        ("HungryRunner", "failed", "it does not take this task: RuntimeError: .*alloc"),
    ],
)
async def test_why_a_task_is_not_prepared(request_, tmp_path, runner, problem, said):
    async with process(acting(runner), tmp_path) as engine:
        with pytest.raises(EngineFailure, match=said) as caught:
            await engine.prepare(request_, 60)
    assert caught.value.problem == problem
    assert "\n" not in caught.value.message


@pytest.mark.integration
async def test_an_engine_that_breaks_after_preparing_has_failed(bundle, request_, tmp_path):
    async with process(acting("BreakingRunner"), tmp_path) as engine:
        await engine.prepare(request_, 60)
        await engine.take(bundle.inputs_path(SEED))
        with pytest.raises(EngineFailure, match="failed while it ran: ZeroDivisionError") as caught:
            await engine.call(30)
        assert caught.value.problem == "failed"
        with pytest.raises(EngineFailure, match="failed while it was timed: ZeroDivisionError"):
            await engine.block(calls_per_block=1, warm_calls=0, time_s=30)


@pytest.mark.integration
async def test_a_clock_that_runs_apart_is_a_broken_protocol(bundle, request_, tmp_path):
    async with process(acting("LyingRunner"), tmp_path) as engine:
        await engine.prepare(request_, 60)
        await engine.take(bundle.inputs_path(SEED))
        with pytest.raises(EngineFailure, match="outside of the time its block took"):
            await engine.block(calls_per_block=1, warm_calls=0, time_s=30)
        with pytest.raises(EngineFailure, match="not running any more"):
            await engine.take(bundle.inputs_path(SEED))


@pytest.mark.integration
async def test_a_runner_that_cannot_be_imported_says_so(tmp_path):
    engine = acting("NoSuchRunner")
    with pytest.raises(EngineFailure, match="cannot be imported: AttributeError"):
        async with process(engine, tmp_path):
            raise AssertionError("it started")


async def pids_in(cache: Path) -> list[int]:
    place = cache / "pids"
    await until(place.exists)
    return [int(pid) for pid in place.read_text().split()]


@pytest.mark.integration
async def test_the_time_limit_kills_the_whole_group(request_, tmp_path):
    async with process(acting("EndlessRunner"), tmp_path) as engine:
        with pytest.raises(EngineFailure, match="did not prepare the task within 15 s and was killed"):
            await engine.prepare(request_, 15)
        pids = await pids_in(tmp_path)
        await until(lambda: not any(map(runs, pids)), limit_s=20)


@pytest.mark.integration
async def test_a_cancelled_preparation_leaves_no_process(request_, tmp_path):
    async def prepare_for_ever() -> None:
        async with process(acting("EndlessRunner"), tmp_path) as engine:
            await engine.prepare(request_, 600)

    preparing = asyncio.create_task(prepare_for_ever())
    pids = await pids_in(tmp_path)
    assert all(map(runs, pids))
    preparing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await preparing
    await until(lambda: not any(map(runs, pids)), limit_s=20)


@pytest.mark.integration
async def test_a_start_that_is_cancelled_leaves_no_process(tmp_path):
    engine = process(acting("WrongRunner"), tmp_path)
    starting = asyncio.create_task(engine.__aenter__())
    await until(lambda: engine._process is not None)
    pid = engine.pid
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not runs(pid)


def channels() -> tuple[Channel, Channel]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return Channel(ours), Channel(theirs)


def answer_to(kind: Kind, body: dict | None = None):
    ours, theirs = channels()
    deadline_s = time.monotonic() + 5
    theirs.send(kind, body, first=3, second=7, deadline_s=deadline_s)
    return _answer(ours, deadline_s)


def test_an_answer_carries_its_numbers():
    frame = answer_to(Kind.DONE, {"a": 1})
    assert (frame.first, frame.second, frame.body) == (3, 7, {"a": 1})


def test_a_failure_keeps_its_problem_and_detail():
    with pytest.raises(EngineFailure, match="no such operator") as caught:
        answer_to(Kind.FAILED, {"problem": "unsupported", "message": "no such operator", "detail": "d"})
    assert (caught.value.problem, caught.value.detail) == ("unsupported", "d")


@pytest.mark.parametrize("body", [{}, {"problem": "odd", "message": "x"}, {"problem": "wrong", "message": 3}])
def test_a_failure_that_is_none_is_a_broken_protocol(body):
    with pytest.raises(ChannelCorrupt):
        answer_to(Kind.FAILED, body)


def test_a_question_is_no_answer():
    with pytest.raises(ChannelCorrupt, match="unexpected frame kind"):
        answer_to(Kind.CALL)
