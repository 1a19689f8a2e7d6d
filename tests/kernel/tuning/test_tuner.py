"""The tuner with real MetaSchedule on a tiny program: extraction, a search of few trials, deaths, application."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import psutil
import pytest
import pytest_asyncio
import tvm
import tvm_ffi

from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel import lowering
from edgelab.kernel.adapters import adapter
from edgelab.kernel.tuning.apply import scheduled
from edgelab.kernel.tuning.client import SearchFailed, Tuner
from edgelab.kernel.tuning.protocol import (
    Bundle,
    Extracted,
    ExtractRequest,
    Measurement,
    SearchClass,
    SearchReply,
    SearchRequest,
    TunerEvent,
    TuningRecord,
)

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(in0: R.Tensor((32, 32), "float32"), in1: R.Tensor((32, 32), "float32")):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            a = R.matmul(in0, in1)
            b = R.nn.relu(a)
            c = R.matmul(b, in1)
            d = R.nn.relu(c)
            e = R.nn.softmax(d, axis=-1)
            R.output(e)
        return e
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tuner() -> AsyncIterator[Tuner]:
    async with Tuner() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def extracted(tuner: Tuner, tmp_path_factory) -> Extracted:
    folder = tmp_path_factory.mktemp("extracted")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    return await tuner.extract(
        ExtractRequest(program_path=str(program), params_path=None, target=None, folder=str(folder))
    )


def request(extracted: Extracted, folder: Path, **changes) -> SearchRequest:
    wanted = SearchRequest(
        kernel=extracted.kernels[0],
        target=extracted.target,
        seed=3,
        max_trials=8,
        trials_per_batch=4,
        records_path=None,
        folder=str(folder),
        workers=2,
        population=32,
        build_limit_s=60.0,
        memory_limit_bytes=8 << 30,
    )
    return msgspec.structs.replace(wanted, **changes)


def all_are_libraries(bundle: Bundle) -> bool:
    content = Path(bundle.path).read_bytes()
    return all(place is not None and content[place[0] :][:4] == b"\x7fELF" for place in bundle.places)


class Answers:
    """Says that every candidate takes 1 ms; stops after `batches` batches and asks for the first finalist."""

    def __init__(self, batches: int) -> None:
        self.events: list[TunerEvent] = []
        self._batches = batches

    @property
    def traces(self) -> list[str]:
        return [trace for event in self.events if event.event == "batch" for trace in event.traces]

    async def __call__(self, event: TunerEvent) -> SearchReply:
        self.events.append(event)
        stop = len([event for event in self.events if event.event == "batch"]) >= self._batches
        finalists = ("", self.traces[0]) if stop and event.event == "batch" else ()
        return SearchReply(tuple(Measurement((1e-3,)) for _ in event.traces), stop, finalists)


async def test_every_different_kernel_is_extracted_once_with_its_weight(extracted):
    found = [(kernel.weight, kernel.search_class, len(kernel.tensors)) for kernel in extracted.kernels]
    assert found == [(2, SearchClass.MATMUL, 3), (1, SearchClass.COMPOSITE, 2)]
    assert len({kernel.digest for kernel in extracted.kernels}) == 2
    assert all(not kernel.untunable for kernel in extracted.kernels)
    assert extracted.plain.errors == ("", "")
    assert extracted.tvm_version == tvm.__version__


async def test_a_search_sends_built_candidates_and_then_its_finalists(tuner, extracted, tmp_path):
    answers = Answers(batches=2)
    await tuner.search(request(extracted, tmp_path), answers)
    assert [event.event for event in answers.events] == ["batch", "batch", "finalists"]
    assert len(set(answers.traces)) == len(answers.traces) == 8
    for event in answers.events:
        assert event.bundle is not None
        assert event.bundle.errors == ("",) * len(event.traces)
        assert all_are_libraries(event.bundle)


async def test_one_seed_makes_one_sequence_of_candidates(tuner, extracted, tmp_path):
    first, again, other = Answers(1), Answers(1), Answers(1)
    for answers, seed in ((first, 3), (again, 3), (other, 4)):
        await tuner.search(request(extracted, tmp_path, seed=seed, workers=1), answers)
    assert first.traces == again.traces
    assert first.traces != other.traces


async def test_what_is_on_record_is_not_offered_again(tuner, extracted, tmp_path):
    first = Answers(1)
    await tuner.search(request(extracted, tmp_path), first)
    records = tmp_path / "records.jsonl"
    lines = [msgspec.json.encode(TuningRecord(trace, (1e-3,))) for trace in first.traces]
    records.write_bytes(b"\n".join(lines) + b"\n")
    answers = Answers(2)
    await tuner.search(request(extracted, tmp_path, records_path=str(records)), answers)
    assert not set(answers.traces) & set(first.traces)


async def test_finalists_can_be_built_without_a_search(tuner, extracted, tmp_path):
    events: list[TunerEvent] = []

    async def answer(event: TunerEvent) -> SearchReply:
        events.append(event)
        return SearchReply(stop=True, finalists=("",))

    await tuner.search(request(extracted, tmp_path, max_trials=0), answer)
    assert [event.event for event in events] == ["exhausted", "finalists"]


async def test_a_kernel_that_no_space_can_be_made_for_fails_with_the_reason(tuner, extracted, tmp_path):
    # MetaSchedule needs the number of cores of a CPU target.
    target = {"kind": "llvm"}
    with pytest.raises(SearchFailed) as caught:
        await tuner.search(request(extracted, tmp_path, target=target), Answers(1))
    assert not caught.value.died
    assert "num-cores" in caught.value.message + caught.value.detail
    await tuner.search(request(extracted, tmp_path), Answers(1))


async def test_a_program_that_cannot_be_read_fails_the_extraction_alone(tuner, tmp_path):
    (tmp_path / "program.py").write_text("@I.ir_module\nclass Module:\n    nothing")
    with pytest.raises(SearchFailed):
        await tuner.extract(
            ExtractRequest(
                program_path=str(tmp_path / "program.py"), params_path=None, target=None, folder=str(tmp_path)
            )
        )


async def test_a_search_process_that_is_killed_is_told_and_the_next_search_runs(tuner, extracted, tmp_path):
    async def kill(event: TunerEvent) -> SearchReply:
        for child in psutil.Process(tuner.pid).children():
            os.kill(child.pid, signal.SIGKILL)
        return SearchReply(tuple(Measurement((1e-3,)) for _ in event.traces))

    with pytest.raises(SearchFailed, match="SIGKILL") as caught:
        await tuner.search(request(extracted, tmp_path), kill)
    assert caught.value.died
    await tuner.search(request(extracted, tmp_path), Answers(1))


async def test_a_cancelled_search_leaves_no_process(extracted, tmp_path):
    async with Tuner() as own:
        begun = asyncio.Event()

        async def never(event: TunerEvent) -> SearchReply:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

        searching = asyncio.create_task(own.search(request(extracted, tmp_path), never))
        await begun.wait()
        assert own.pid is not None
        process = psutil.Process(own.pid)
        family = [process, *process.children(recursive=True)]
        assert len(family) == 2
        searching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await searching
        _, alive = psutil.wait_procs(family, timeout=10)
        assert not alive


async def test_a_tuner_that_is_killed_is_infrastructure_and_starts_again(extracted, tmp_path):
    async with Tuner() as own:

        async def kill(event: TunerEvent) -> SearchReply:
            assert own.pid is not None
            os.kill(own.pid, signal.SIGKILL)
            return SearchReply(tuple(Measurement((1e-3,)) for _ in event.traces))

        process = psutil.Process(own.pid)
        with pytest.raises(EvaluationFailure) as caught:
            await own.search(request(extracted, tmp_path), kill)
        assert caught.value.failure_class is FailureClass.INFRASTRUCTURE
        assert "--resume" in caught.value.advice
        _, alive = psutil.wait_procs([process], timeout=10)
        assert not alive
        await own.search(request(extracted, tmp_path), Answers(1))


@pytest.fixture(scope="module")
def lowered() -> tvm.IRModule:
    backend = adapter("llvm")
    return backend.lower(tvm.script.from_source(PROGRAM), backend.target(None))


async def test_schedules_are_applied_to_the_kernels_that_they_were_found_for(
    tuner, extracted, lowered, tmp_path
):
    answers = Answers(1)
    await tuner.search(request(extracted, tmp_path), answers)
    matmul, softmax = extracted.kernels
    done = scheduled(lowered, {matmul.digest: answers.traces[0], softmax.digest: ""})
    names = {str(variable.name_hint): variable for variable in lowering.kernel_calls(lowered)}
    changed = [
        name
        for name, variable in names.items()
        if not tvm_ffi.structural_equal(done[variable].body, lowered[variable].body)
    ]
    assert changed == [matmul.name]
    adapter("llvm").build(done, adapter("llvm").target(None))


async def test_a_program_with_a_kernel_that_was_not_tuned_is_refused(extracted, lowered):
    with pytest.raises(EvaluationFailure, match="softmax was not tuned") as caught:
        scheduled(lowered, {extracted.kernels[0].digest: ""})
    assert caught.value.failure_class is FailureClass.INFRASTRUCTURE


async def test_a_schedule_of_another_kernel_is_refused(tuner, extracted, lowered, tmp_path):
    answers = Answers(1)
    await tuner.search(request(extracted, tmp_path), answers)
    matmul, softmax = extracted.kernels
    with pytest.raises(EvaluationFailure, match="does not fit"):
        scheduled(lowered, {matmul.digest: "", softmax.digest: answers.traces[0]})
