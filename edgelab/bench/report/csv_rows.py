"""A report as CSV: a header line and a line for each row of the summary, or for each instance."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from edgelab.bench.metrics.instance import Instance
from edgelab.bench.metrics.shares import Share
from edgelab.bench.metrics.summary import SummaryRow
from edgelab.bench.report.compare import ComparisonRow, verdict_words
from edgelab.bench.report.view import ReportView
from edgelab.visible_text import visible

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def summary_csv(view: ReportView) -> str:
    """Return the summary: `scope` is `row`, or `total` for the totals. Unknown is an empty cell."""
    totals = (*view.totals.physical, *view.totals.simulated)
    lines = [{"scope": "row"} | _summary(row) for row in view.rows]
    return _written([*lines, *({"scope": "total"} | _summary(row) for row in totals)])


def instances_csv(view: ReportView) -> str:
    """Return a line for each instance, the missing ones too."""
    return _written([_instance(instance) for instance in view.instances])


def comparison_csv(rows: Iterable[ComparisonRow]) -> str:
    """Return a line for each task of a comparison."""
    return _written([_comparison(row) for row in rows])


def _written(lines: list[dict[str, Any]]) -> str:
    if not lines:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(_harmless(line) for line in lines)
    return text.getvalue()


def _harmless(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line with its texts fit for terminals and spreadsheets: they are a stranger's.

    Control characters become visible, and a text that a spreadsheet would run as a formula gets the quote
    that makes it plain text: OWASP, "CSV Injection".
    """
    return {key: _plain_text(value) if isinstance(value, str) else value for key, value in line.items()}


def _plain_text(text: str) -> str:
    return visible(f"'{text}" if text.startswith(_FORMULA_STARTS) else text)


def _bounds(name: str, bounds: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = bounds or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _share(name: str, share: Share) -> dict[str, float | None]:
    return {name: share.share, **_bounds(name, share.ci95)}


def _summary(row: SummaryRow) -> dict[str, Any]:
    cells: dict[str, Any] = {
        "simulated": row.simulated,
        "device": row.device,
        "backend": row.backend,
        "method": row.method,
        "baseline_kind": row.baseline_kind,
        "level": row.level,
        "instances": row.instances,
        "judged": row.judged,
        "missing": row.missing,
        "not_judged": row.not_judged,
        "unstable": row.unstable,
        **_share("csr", row.csr),
        **_share("fcr", row.fcr),
    }
    for fast in row.fast:
        cells |= _share(f"fast_{fast.p:g}", fast.share)
    for fast in row.fast_any_quality:
        cells[f"fast_{fast.p:g}_any_quality"] = fast.share.share
    cells |= _share("clearly_faster", row.clearly_faster)
    cells |= {
        "geometric_mean": row.geometric_mean.value,
        **_bounds("geometric_mean", row.geometric_mean.ci95),
    }
    return cells | {f"{one.quality}_timings": one.geometric_mean.count for one in row.qualities}


def _instance(instance: Instance) -> dict[str, Any]:
    return {
        "task": instance.task,
        "level": instance.level,
        "domain": instance.domain,
        "simulated": instance.simulated,
        "device": instance.device,
        "backend": instance.backend,
        "method": instance.method,
        "baseline_kind": instance.baseline_kind,
        "verdict": instance.verdict,
        "failure_class": instance.failure_class,
        "compiled": instance.compiled,
        "correct": instance.correct,
        "quality": instance.quality,
        "counts": instance.counts,
        "speedup": instance.speedup,
        **_bounds("speedup", instance.ci95),
        "latency_s": instance.latency_s,
        "baseline_latency_s": instance.baseline_latency_s,
        "peak_memory_bytes": instance.peak_memory_bytes,
        "planned_memory_bytes": instance.planned_memory_bytes,
        "run": instance.run,
        "message": instance.message,
    }


def _comparison(row: ComparisonRow) -> dict[str, Any]:
    cells: dict[str, Any] = {"task": row.task}
    for name, side in (("first", row.first), ("second", row.second)):
        cells[f"{name}_run"] = side.run if side else None
        cells[f"{name}_verdict"] = verdict_words(side)
        cells[f"{name}_speedup"] = side.speedup if side else None
        cells |= _bounds(f"{name}_speedup", side.ci95 if side else None)
    cells |= {"ratio": row.ratio, **_bounds("ratio", row.ratio_ci95)}
    return cells | {"change": row.change, "notes": " ".join(row.notes)}
