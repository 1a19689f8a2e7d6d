"""One kernel's tuning over a scripted tuner and a scripted device: what is searched, kept, resumed, refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from edgelab.bench.baseline.kernel_tuning import KernelTuning, SearchSettings
from edgelab.bench.baseline.stopping import StopRule
from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.events import TuningProgress
from edgelab.kernel.tuning.client import SearchFailed
from edgelab.kernel.tuning.protocol import (
    Bundle,
    ExtractedKernel,
    KernelTensor,
    Measurement,
    SearchClass,
    SearchRequest,
    TunerEvent,
)
from edgelab.store.tuned import TunedKernel, TunedStore

KERNEL = ExtractedKernel(
    name="fused_matmul",
    weight=2,
    digest="aa",
    search_class=SearchClass.MATMUL,
    tensors=(KernelTensor((4, 4), "float32"),),
    module_path="",
)
ROW = TunedKernel(
    task="t",
    profile="p",
    target="{}",
    tvm_version="0.27.0",
    digest="aa",
    name="fused_matmul",
    search_class="matmul",
    weight=2,
    plain_latency_s=1.0,
)
PLAIN_S = 1.0

Latency = Callable[[str], float | None]


class ScriptedTuner:
    """Offers the traces `<seed>.<n>` in batches; ends when `offers` are used up, if that is said."""

    def __init__(
        self, folder: Path, *, offers: int = 10**6, fails: Exception | None = None, after: int = 0
    ) -> None:
        self.folder = folder
        self.requests: list[SearchRequest] = []
        self.finalists: tuple[str, ...] = ()
        self._offers = offers
        self._fails = fails
        self._after = after

    async def search(self, request: SearchRequest, answer) -> None:
        self.requests.append(request)
        offered = 0
        reply = None
        while reply is None or not reply.stop:
            if self._fails is not None and offered >= self._after:
                raise self._fails
            batch = min(request.trials_per_batch, request.max_trials - offered, self._offers - offered)
            if batch <= 0:
                reply = await answer(TunerEvent(event="exhausted"))
                break
            traces = tuple(f"{request.seed}.{offered + number}" for number in range(batch))
            offered += batch
            reply = await answer(TunerEvent(event="batch", bundle=self._bundle(traces), traces=traces))
            assert len(reply.measurements) == batch
        if reply.finalists:
            self.finalists = reply.finalists
            await answer(
                TunerEvent(event="finalists", bundle=self._bundle(reply.finalists), traces=reply.finalists)
            )

    def _bundle(self, traces: Sequence[str]) -> Bundle:
        path = self.folder / "bundle"
        path.write_text("\n".join(traces))
        return Bundle(str(path), tuple((0, 1) for _ in traces), ("",) * len(traces))


def traces_in(bundle: Bundle) -> list[str]:
    return Path(bundle.path).read_text().split("\n")


def records_in(request: SearchRequest) -> int:
    return Path(request.records_path or "").read_bytes().count(b"\n")


class ScriptedDevice:
    """Measures a trace as `latency` says; the default schedule (an empty trace) takes `PLAIN_S`."""

    def __init__(self, latency: Latency, *, fails_after: int | None = None) -> None:
        self._latency = latency
        self._left = fails_after
        self.batches = 0

    async def measure(
        self, bundle: Bundle, tensors, effort, *, backwards: bool = False, last: bool = False
    ) -> list[Measurement]:
        self.batches += 1
        if self._left is not None:
            if not self._left:
                raise EvaluationFailure(FailureClass.INFRASTRUCTURE, "the link broke")
            self._left -= 1
        found = []
        for trace in traces_in(bundle):
            latency = PLAIN_S if not trace else self._latency(trace)
            found.append(Measurement(error="it crashed") if latency is None else Measurement((latency,) * 3))
        return found


@pytest.fixture
def store(tmp_path: Path):
    with TunedStore(tmp_path / "edgelab.db", tmp_path / "blobs") as store:
        yield store


class Bench:
    """Tunes the kernel, possibly several times on one store."""

    def __init__(self, store: TunedStore, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.events: list[TuningProgress] = []

    async def tune(
        self, tuner: ScriptedTuner, device: ScriptedDevice, *, budget: int = 40, **rule: int
    ) -> TunedKernel:
        settings = SearchSettings(
            target={},
            seed=5,
            rule=StopRule(**{"window": 8, "min_trials": 12, "finalists": 3, "rounds": 3, **rule}),
            workers=1,
            trials_per_batch=4,
        )
        row = self.store.kernel(ROW.key) or ROW
        tuning = KernelTuning(KERNEL, row, budget, settings, self.store, self.folder, self.events.append)
        return await tuning.run(tuner, device)  # type: ignore[arg-type]

    @property
    def stored(self) -> TunedKernel:
        found = self.store.kernel(ROW.key)
        assert found is not None
        return found


@pytest.fixture
def bench(store, tmp_path) -> Bench:
    return Bench(store, tmp_path)


def number(trace: str) -> int:
    return int(trace.partition(".")[2])


def falling(trace: str) -> float:
    return 0.5 / (number(trace) + 1)


def flat(trace: str) -> float:
    return 0.5


async def test_the_best_finalist_is_kept_with_its_latency(bench, tmp_path):
    tuner = ScriptedTuner(tmp_path)
    tuned = await bench.tune(tuner, ScriptedDevice(falling), budget=16)
    assert (tuned.state, tuned.trace, tuned.trials) == ("tuned", "5.15", 16)
    assert tuned.tuned_latency_s == pytest.approx(0.5 / 16)
    assert tuner.finalists == ("", "5.15", "5.14", "5.13")
    assert bench.stored == msgspec.structs.replace(tuned, updated_s=bench.stored.updated_s)


async def test_every_batch_is_an_event_and_is_stored(bench, tmp_path):
    await bench.tune(ScriptedTuner(tmp_path), ScriptedDevice(falling), budget=10)
    assert [event.trials for event in bench.events] == [4, 8, 10]
    assert [event.best_latency_s for event in bench.events] == [0.5 / 4, 0.5 / 8, 0.5 / 10]
    assert [batch.trials for batch in bench.store.batches(ROW.key)] == [4, 4, 2]


async def test_a_converged_search_is_followed_by_one_with_another_seed(bench, tmp_path):
    tuner = ScriptedTuner(tmp_path)
    tuned = await bench.tune(tuner, ScriptedDevice(flat), budget=100)
    assert [request.seed for request in tuner.requests] == [5, 6]
    assert [request.records_path for request in tuner.requests] == [None, None]
    assert (tuned.trials, tuned.converged_at) == (24, 1)


async def test_finalists_come_from_all_searches(bench, tmp_path):
    latencies = {"5.3": 0.2, "6.1": 0.1}
    tuner = ScriptedTuner(tmp_path)
    tuned = await bench.tune(tuner, ScriptedDevice(lambda trace: latencies.get(trace, 0.5)), budget=100)
    assert tuner.finalists[:3] == ("", "6.1", "5.3")
    assert tuned.trace == "6.1"


async def test_the_default_schedule_stands_where_nothing_beats_it(bench, tmp_path):
    tuned = await bench.tune(ScriptedTuner(tmp_path), ScriptedDevice(lambda trace: 2.0), budget=8)
    assert (tuned.state, tuned.trace, tuned.tuned_latency_s) == ("plain", "", PLAIN_S)


async def test_failed_trials_are_counted_and_never_chosen(bench, tmp_path):
    device = ScriptedDevice(lambda trace: None if number(trace) % 2 else 0.5)
    tuned = await bench.tune(ScriptedTuner(tmp_path), device, budget=8)
    assert (tuned.state, tuned.trials, tuned.failed) == ("tuned", 8, 4)
    assert number(tuned.trace) % 2 == 0


async def test_nothing_measured_is_a_failure_not_a_baseline(bench, tmp_path):
    tuned = await bench.tune(ScriptedTuner(tmp_path), ScriptedDevice(lambda trace: None), budget=8)
    assert (tuned.state, tuned.trace) == ("failed", "")
    assert "it crashed" in tuned.error


async def test_no_space_of_schedules_falls_back_and_keeps_the_error(bench, tmp_path):
    tuner = ScriptedTuner(tmp_path, fails=SearchFailed("blockIdx is bound but threadIdx is not"))
    tuned = await bench.tune(tuner, ScriptedDevice(flat))
    assert (tuned.state, tuned.trace, tuned.trials) == ("fallback", "", 0)
    assert "blockIdx" in bench.stored.error


async def test_a_search_that_dies_in_the_middle_keeps_what_it_measured(bench, tmp_path):
    tuner = ScriptedTuner(tmp_path, fails=SearchFailed("killed", died=True), after=8)
    with pytest.raises(EvaluationFailure, match="died: killed") as caught:
        await bench.tune(tuner, ScriptedDevice(flat))
    assert caught.value.failure_class is FailureClass.INFRASTRUCTURE
    assert (bench.stored.state, bench.stored.trials) == ("open", 8)


async def test_a_broken_link_keeps_what_was_measured_and_resume_goes_on(bench, tmp_path):
    with pytest.raises(EvaluationFailure, match="link broke"):
        await bench.tune(ScriptedTuner(tmp_path), ScriptedDevice(falling, fails_after=2), budget=16)
    assert (bench.stored.state, bench.stored.trials) == ("open", 8)
    tuner = ScriptedTuner(tmp_path)
    tuned = await bench.tune(tuner, ScriptedDevice(falling), budget=16)
    (request,) = tuner.requests
    assert request.max_trials == 8
    assert request.seed not in (5, 6)
    assert records_in(request) == 8
    assert (tuned.state, tuned.trials) == ("tuned", 16)


async def test_a_resumed_tuning_with_all_its_trials_only_chooses(bench, tmp_path):
    with pytest.raises(EvaluationFailure, match="link broke"):
        await bench.tune(ScriptedTuner(tmp_path), ScriptedDevice(falling, fails_after=4), budget=16)
    assert bench.stored.trials == 16
    tuner, device = ScriptedTuner(tmp_path), ScriptedDevice(falling)
    tuned = await bench.tune(tuner, device, budget=16)
    assert [request.max_trials for request in tuner.requests] == [0]
    assert device.batches == 3
    assert (tuned.state, tuned.trials, tuned.trace) == ("tuned", 16, "5.15")


async def test_a_search_without_anything_new_is_restarted_and_then_over(bench, tmp_path):
    tuner = ScriptedTuner(tmp_path, offers=6)
    tuned = await bench.tune(tuner, ScriptedDevice(falling), budget=100)
    assert len(tuner.requests) == 2
    assert (tuned.state, tuned.trials, tuned.converged_at) == ("tuned", 12, 6)


async def test_a_search_that_finds_nothing_at_all_is_a_failure(bench, tmp_path):
    tuned = await bench.tune(ScriptedTuner(tmp_path, offers=0), ScriptedDevice(flat))
    assert (tuned.state, tuned.trials) == ("failed", 0)
    assert "no trial was made" in tuned.error
