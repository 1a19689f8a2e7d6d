"""The view: what is wanted and missing, which results are in it, and that it is what commands print."""

from __future__ import annotations

from pathlib import Path

import msgspec

from edgelab.bench.report.csv_rows import instances_csv
from edgelab.bench.report.instances import ReportRequest, found_instances, with_missing
from edgelab.bench.report.view import ReportView, view_of
from edgelab.bench.task_template import TaskSpec
from edgelab.results import Latency
from edgelab.store.selection import SelectedRun
from tests.support.instances import an_instance
from tests.support.records import a_result, a_run


def a_spec(name: str, level: int = 1, domains: str = "MEA") -> TaskSpec:
    return TaskSpec(
        name=name, id=f"L{level}-001", level=level, family="f", title=name, domains=domains,
        operator_class="injective", provenance="", adapted="", path=Path(f"/{name}.py"),
    )  # fmt: skip


SPECS = (a_spec("softmax"), a_spec("matmul", 2), a_spec("gpu_only", 2, "E"))


def selected(run_id: str, created_s: float = 1.0, candidate_path: str = "", **changes) -> SelectedRun:
    result = a_result(run_id, **changes)
    run = a_run(
        run_id, task=result.task, device=result.device, backend=result.backend, simulated=result.simulated,
        created_s=created_s, candidate_path=candidate_path, result=result,
    )  # fmt: skip
    return SelectedRun(run, True)


def view(*found: SelectedRun, **request) -> ReportView:
    return view_of(found, SPECS, ReportRequest(**request), made_s=5.0)


def test_every_task_that_counts_for_the_backend_is_wanted():
    found = {one.task: one.verdict for one in view(selected("r")).instances}
    assert found == {"softmax": "ok", "matmul": "missing"}


def test_filters_narrow_what_is_wanted():
    assert [one.task for one in view(selected("r"), levels=(1,)).instances] == ["softmax"]
    assert [one.task for one in view(selected("r"), task="soft*").instances] == ["softmax"]
    assert view(selected("r"), levels=(2,)).instances == ()


def test_own_tasks_are_outside_the_suite_and_want_nothing():
    found = view(selected("r", task="mine")).instances
    assert [(one.task, one.level, one.domain) for one in found] == [("mine", 0, "")]


def test_a_task_on_a_backend_it_does_not_count_for_is_outside_the_suite():
    (found,) = found_instances([selected("r", task="gpu_only")], SPECS)
    assert found.level == 0
    (found,) = found_instances([selected("r", task="gpu_only", backend="cuda")], SPECS)
    assert (found.level, found.domain) == (2, "E")


def test_missing_instances_are_per_device_method_and_baseline():
    found = [an_instance("softmax"), an_instance("softmax", device="other", method="import")]
    missing = [(one.device, one.method, one.task) for one in with_missing(found, SPECS, ReportRequest())[2:]]
    expected = [("orin", "candidate"), ("other", "import")]
    assert missing == [(*place, task) for place in expected for task in ("matmul", "gpu_only")]


def test_the_front_has_every_program_and_the_rows_the_newest():
    quick = selected(
        "quick", 1.0, "/a.py", latency_s=Latency(1e-5, 1e-4), peak_memory_bytes=9, candidate_program="q"
    )
    small = selected(
        "small", 2.0, "/b.py", latency_s=Latency(9e-5, 1e-4), peak_memory_bytes=1, candidate_program="s"
    )
    again = selected(
        "again", 3.0, "/b.py", latency_s=Latency(8e-5, 1e-4), peak_memory_bytes=1, candidate_program="s"
    )
    found = view(again, small, quick)
    assert [(point.run, point.on_front) for point in found.pareto] == [("quick", True), ("again", True)]
    assert [one.run for one in found.instances if one.run] == ["again"]


def test_a_view_survives_its_json():
    found = view(selected("r"), selected("s", task="matmul", simulated=True))
    assert msgspec.json.decode(msgspec.json.encode(found), type=ReportView) == found


def test_the_curve_is_that_of_the_suite():
    curves = view(selected("r"), selected("s", task="mine", speedup=9.0)).curves
    assert [(curve.device, curve.judged) for curve in curves] == [("local", 2)]
    assert [(point.p, point.share) for point in curves[0].points] == [(0.0, 0.5), (1.5, 0.0)]


def test_texts_of_strangers_run_in_no_spreadsheet():
    text = instances_csv(view(selected("r", task="=cmd|'/c calc'!A1")))
    assert "\n'=cmd|'/c calc'!A1," in text
