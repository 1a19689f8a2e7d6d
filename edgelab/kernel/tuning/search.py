"""The search for schedules of one kernel: MetaSchedule's evolution and cost model, our builder and runner.

One kernel has one search, so TVM's task scheduler has nothing to schedule: this loop stands in its place and
asks EdgeLab after every batch whether to go on.
"""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import tvm
from tvm.s_tir import Schedule, meta_schedule
from tvm.s_tir.meta_schedule.cost_model import XGBModel
from tvm.s_tir.meta_schedule.cost_model.xgb_model import XGBConfig
from tvm.s_tir.meta_schedule.database import MemoryDatabase
from tvm.s_tir.meta_schedule.runner import RunnerResult
from tvm.s_tir.meta_schedule.search_strategy import EvolutionarySearch
from tvm.s_tir.schedule import Trace

from edgelab.kernel.tuning.builder import ForkBuilder
from edgelab.kernel.tuning.compiling import compile_kernel
from edgelab.kernel.tuning.protocol import SearchReply, SearchRequest, TunerEvent, TuningRecord

_FAILED_S = 1e10
"""What MetaSchedule takes the latency of a candidate to be that has none."""

Exchange = Callable[[TunerEvent], SearchReply]
"""Sends an event to EdgeLab and waits for its reply."""


class Search:
    """One search from its first batch to its finalists."""

    def __init__(self, request: SearchRequest, exchange: Exchange) -> None:
        self._request = request
        self._exchange = exchange
        self._target = tvm.target.Target(request.target)
        self._module: Any = tvm.ir.load_json(Path(request.kernel.module_path).read_text())
        self._builder = ForkBuilder(
            lambda module, library: compile_kernel(module, self._target, library),
            Path(request.folder),
            workers=request.workers,
            limit_s=request.build_limit_s,
            memory_limit_bytes=request.memory_limit_bytes,
        )
        self._known: dict[str, TuningRecord] = {}

    def run(self) -> None:
        """Search until EdgeLab says stop or nothing new is found. Raises what the space's generation raises."""
        if not self._request.max_trials:
            self._build_finalists(self._exchange(TunerEvent(event="exhausted")).finalists)
            return
        self._prepare()
        reply = SearchReply()
        while not reply.stop:
            began_s = time.monotonic()
            candidates = self._context.generate_measure_candidates()
            if candidates is None:
                reply = self._exchange(TunerEvent(event="exhausted"))
                break
            reply = self._measure(list(candidates), time.monotonic() - began_s)
        self._context.post_tuning()
        self._build_finalists(reply.finalists)

    def _prepare(self) -> None:
        request = self._request
        # The cost model draws from numpy's global generator until it has enough samples.
        np.random.seed(request.seed)
        self._database = MemoryDatabase()
        # One thread: on so few samples several only wait for each other, which took eight times the CPU time.
        self._model: Any = XGBModel(config=XGBConfig(seed=request.seed), num_tuning_cores=1)
        self._context: Any = meta_schedule.TuneContext(
            self._module,
            target=self._target,
            space_generator="post-order-apply",
            search_strategy=EvolutionarySearch(population_size=request.population),
            task_name=request.kernel.name,
            rand_state=request.seed,
            num_threads=request.workers,
        )
        self._workload = self._database.commit_workload(self._context.mod)
        self._recall()
        spaces = self._context.generate_design_space()
        self._context.pre_tuning(
            request.max_trials,
            min(request.trials_per_batch, request.max_trials),
            spaces,
            self._database,
            self._model,
        )

    def _recall(self) -> None:
        """Take in what earlier searches of this kernel measured, so that nothing is measured twice."""
        if self._request.records_path is None:
            return
        lines = Path(self._request.records_path).read_bytes().splitlines()
        records = [msgspec.json.decode(line, type=TuningRecord) for line in lines]
        self._known = {record.trace: record for record in records}
        loaded = [
            (self._candidate(record.trace), record)
            for record in self._known.values()
            if record.latency_s is not None
        ]
        candidates = [candidate for candidate, _ in loaded]
        results = [RunnerResult(list(record.run_s), None) for _, record in loaded]
        self._learn(candidates, results)

    def _candidate(self, trace: str) -> Any:
        schedule: Any = self._schedule(trace)
        return meta_schedule.database.TuningRecord(
            schedule.trace, self._workload, [_FAILED_S], self._target
        ).as_measure_candidate()

    def _schedule(self, trace: str) -> Schedule:
        return replay(self._module, trace)

    def _measure(self, candidates: list[Any], generate_s: float) -> SearchReply:
        traces = [trace_text(candidate.sch.trace) for candidate in candidates]
        fresh = [index for index, trace in enumerate(traces) if trace not in self._known]
        began_s = time.monotonic()
        bundle = self._builder.build([candidates[index].sch.mod for index in fresh])
        reply = self._exchange(
            TunerEvent(
                event="batch",
                bundle=bundle,
                traces=tuple(traces[index] for index in fresh),
                generate_s=generate_s,
                build_s=time.monotonic() - began_s,
            )
        )
        for index, measurement in zip(fresh, reply.measurements, strict=True):
            self._known[traces[index]] = TuningRecord(traces[index], measurement.run_s, measurement.error)
        results = [_result(self._known[trace]) for trace in traces]
        if not reply.stop:
            self._learn(candidates, results)
            self._context.notify_runner_results(candidates, results)
        return reply

    def _learn(self, candidates: Sequence[Any], results: Sequence[Any]) -> None:
        for candidate, result in zip(candidates, results, strict=True):
            if result.error_msg is None:
                self._database.commit_tuning_record(
                    meta_schedule.database.TuningRecord(
                        candidate.sch.trace,
                        self._workload,
                        result.run_secs,
                        self._target,
                        candidate.args_info,
                    )
                )
        if candidates:
            self._model.update(self._context, list(candidates), list(results))

    def _build_finalists(self, traces: Sequence[str]) -> None:
        modules = [self._schedule(trace).mod if trace else self._module for trace in traces]
        if modules:
            self._exchange(
                TunerEvent(event="finalists", bundle=self._builder.build(modules), traces=tuple(traces))
            )


def _result(record: TuningRecord) -> Any:
    if record.run_s:
        return RunnerResult(list(record.run_s), None)
    return RunnerResult([_FAILED_S], record.error or "it failed")


def trace_text(trace: Trace) -> str:
    """A trace as JSON text that `replay` takes back."""
    return msgspec.json.encode(_plain(trace.as_json())).decode()


def _plain(value: Any) -> Any:
    """TVM's containers and numbers as Python's own."""
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if hasattr(value, "items"):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "__iter__"):
        return [_plain(item) for item in value]
    return getattr(value, "value", value)


def replay(module: tvm.IRModule, trace: str) -> Schedule:
    """The schedule that `trace` (JSON text) makes of the kernel `module`. Raises what TVM raises."""
    schedule = Schedule(module)
    Trace.apply_json_to_schedule(msgspec.json.decode(trace), schedule)
    return schedule
