"""Engines against the plain program with the real thing: verdicts, reasons, numbers, and nothing left over."""

from __future__ import annotations

import asyncio
import contextlib
import sys

import pytest

from edgelab.bench.engines.comparison import Comparison, Measured, TaskComparison
from edgelab.bench.engines.engine import Engine
from edgelab.bench.evaluation import EvaluationRequest
from edgelab.bench.services import Services
from edgelab.bench.tasks import TaskSpec
from edgelab.bench.timing_policy import TimingPolicy
from edgelab.drivers.local import LocalTransport
from edgelab.errors import UsageError
from edgelab.events import LogLine, PairsTimed
from tests.support.engines import absent, acting, installed
from tests.support.task_files import SOUND, runs, until, write_task

pytestmark = pytest.mark.integration

BRIEF = TimingPolicy(min_pairs=4, min_sessions=2, max_pairs=60, max_time_s=0.5, warm_up_s=0.0)

CONVOLUTION = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, image, shift):
        kept = torch.relu(self.norm(self.conv(image)) + shift)
        return kept, kept.flatten(1).argmax(1)


def get_inputs():
    return [torch.randn(1, 3, 16, 16), torch.randn(8, 1, 1)]


def get_init_inputs():
    return []
"""
"""Two inputs, a float and an integer output."""

HALF = """import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return (x.double() * 3).cos()


def get_inputs():
    return [torch.randn(4, 4, dtype=torch.float64)]


def get_init_inputs():
    return []
"""
"""Double precision, which MNN does not have."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("engines")


class Lab:
    """Warm services and what was said over them."""

    def __init__(self, place, services, events) -> None:
        self._place, self._services, self._events = place, services, events

    @property
    def events(self) -> list:
        return self._events

    def task(self, text: str, name: str) -> TaskSpec:
        return write_task(self._place, text, name)

    async def measure(
        self, task: TaskSpec, *engines: Engine, baseline: Engine | None = None, **fields
    ) -> list[Measured]:
        request = EvaluationRequest(
            task=task, secret=b"tests", cache=self._place / "cache", policy=fields.pop("policy", BRIEF)
        )
        comparison = Comparison(baseline=baseline, threads=1, **fields)
        comparing = TaskComparison(request, comparison, self._services, self._events.append)
        return [measured async for measured in comparing.measure(engines)]


@pytest.fixture
async def lab(place):
    events: list = []
    async with Services(LocalTransport(place / "device"), place / "cache", events.append) as services:
        yield Lab(place, services, events)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["torch", "torch_compile", "onnxruntime", "mnn"])
@pytest.mark.parametrize(("task", "text"), [("linear", SOUND), ("convolution", CONVOLUTION)])
async def test_a_real_engine_is_right_and_timed(lab, name, task, text):
    engine = installed(name)
    (measured,) = await lab.measure(lab.task(text, task), engine)
    result = measured.result
    assert result.verdict in ("ok", "unstable"), (result.reason, result.detail)
    assert measured.series is not None
    assert result.version == engine.available().version
    assert result.threads == 1
    assert result.settings["threads"] == "1"
    assert result.baseline.kind == "plain"
    assert result.baseline.version.startswith("0.27")
    assert len(result.baseline.program) == 64
    assert result.pairs == len(measured.series.candidate_s) >= 4
    assert result.latency_s.engine > 0
    # Medians of one and the same pairs: their ratio cannot be far from the median ratio.
    ratio = result.latency_s.engine / result.latency_s.baseline
    assert 0.2 < result.baseline_speedup / ratio < 5
    low, high = result.baseline_speedup_ci95
    assert low <= result.baseline_speedup <= high
    assert any(isinstance(event, PairsTimed) for event in lab.events)


async def test_mnn_says_what_it_cannot_take(lab):
    (measured,) = await lab.measure(lab.task(HALF, "double"), installed("mnn"))
    assert measured.result.verdict == "unsupported", measured.result
    assert "float64" in measured.result.reason
    assert measured.series is None


async def test_what_one_engine_cannot_do_stops_no_other(lab):
    runners = ("RefusingRunner", "CrashingRunner", "WrongRunner", "NarrowRunner", "LateWrongRunner")
    engines = [absent(), *map(acting, runners), installed("torch")]
    found = await lab.measure(lab.task(SOUND, "linear"), *engines)
    results = [measured.result for measured in found]
    assert [result.verdict for result in results[:-1]] == [
        *("unavailable", "unsupported", "failed", "wrong", "wrong", "wrong")
    ]
    assert results[-1].verdict in ("ok", "unstable")
    assert all(measured.series is None for measured in found[:-1])
    assert "edgelab-no-such" in results[0].reason
    assert "aten::relu is not known" in results[1].reason
    assert "SIGSEGV" in results[2].reason
    assert "wrong is wrong on linear for seed 11: output 0 differs in 1 of 12 elements" in results[3].reason
    assert "dtype float16, expected float32" in results[4].reason
    assert "after timing" in results[5].reason
    warnings = [event for event in lab.events if isinstance(event, LogLine) and event.level == "warning"]
    assert len(warnings) == 5


async def test_an_engine_can_be_the_baseline_of_another(lab):
    torch = installed("torch")
    (measured,) = await lab.measure(lab.task(SOUND, "linear"), acting("ReportingRunner"), baseline=torch)
    result = measured.result
    assert result.verdict in ("ok", "unstable"), result.reason
    assert (result.baseline.kind, result.baseline.version) == ("torch", torch.available().version)
    # The same engine twice: far from 1 would be a side that is timed differently.
    assert 0.3 < result.baseline_speedup < 3


async def test_a_baseline_that_is_wrong_is_no_baseline(lab):
    (measured,) = await lab.measure(
        lab.task(SOUND, "linear"), installed("torch"), baseline=acting("WrongRunner")
    )
    assert measured.result.verdict == "failed"
    assert measured.result.reason.startswith("No baseline: wrong is wrong")
    (measured,) = await lab.measure(lab.task(SOUND, "linear"), installed("torch"), baseline=absent())
    assert "cannot be used: not installed" in measured.result.reason


async def test_an_engine_is_not_compared_with_itself(lab):
    torch = installed("torch")
    with pytest.raises(UsageError, match="with itself"):
        await lab.measure(lab.task(SOUND, "linear"), torch, baseline=torch)


async def test_a_task_that_tvm_cannot_build_is_a_reason_not_an_error(lab):
    (measured,) = await lab.measure(lab.task("x = 1\n", "hollow"), installed("torch"))
    assert measured.result.verdict == "failed"
    assert "no class Model" in measured.result.reason


async def test_preparing_has_a_time_limit(lab, place):
    (measured,) = await lab.measure(lab.task(SOUND, "linear"), acting("EndlessRunner"), prepare_limit_s=10.0)
    assert "did not prepare the task within 10 s" in measured.result.reason
    pids = [int(pid) for pid in (place / "cache" / "pids").read_text().split()]
    await until(lambda: not any(map(runs, pids)), limit_s=20)


async def test_a_cancelled_comparison_leaves_no_process(lab, place):
    pids_file = place / "cache" / "pids"
    pids_file.unlink(missing_ok=True)
    measuring = asyncio.create_task(lab.measure(lab.task(SOUND, "linear"), acting("EndlessRunner")))
    await until(pids_file.exists)
    pids = [int(pid) for pid in pids_file.read_text().split()]
    measuring.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await measuring
    await until(lambda: not any(map(runs, pids)), limit_s=20)


def test_the_controller_imports_no_engine():
    heavy = {"torch", "tvm", "onnx", "onnxruntime", "MNN"}
    import subprocess

    code = "import edgelab.bench.engines.comparison, edgelab.bench.engines.registry as r, sys\n"
    code += "[engine.available() for engine in r.ENGINES]\nsys.stdout.write(' '.join(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not heavy & set(said.split())
