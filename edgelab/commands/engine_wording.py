"""How engines and their verdicts read on the command line."""

from __future__ import annotations

from edgelab.bench.engines.engine import Engine
from edgelab.bench.engines.result import EngineResult
from edgelab.quantities import elapsed, interval, latency, measured_speedup, share
from edgelab.visible_text import visible_block

_NAME_WIDTH = 14
_TITLES = {"plain": "TVM plain"}


def available_line(engine: Engine) -> str:
    """Return an engine with its version, or with the reason why it cannot be used here."""
    found = engine.available()
    if found.version is not None:
        others = [f"{name} {version}" for name, version in list(found.versions.items())[1:]]
        by = f" (with {', '.join(others)})" if others else ""
        return f"{engine.name:<{_NAME_WIDTH}}{found.version:<14}{engine.title}{by}"
    return f"{engine.name:<{_NAME_WIDTH}}{'absent':<14}{engine.title}: {found.reason}. {found.advice}"


def engine_result_text(result: EngineResult) -> str:
    """Return a verdict as aligned lines for people."""
    version = f" {result.version}" if result.version else ""
    rows = [(result.verdict.upper(), f"{result.task}: {result.engine}{version} against {_baseline(result)}")]
    if result.reason:
        rows += [("reason", result.reason)]
        rows += [("advice", result.advice)] if result.advice else []
    if result.baseline_speedup is not None:
        rows += _measured(result)
    return visible_block("\n".join(f"{name:<{_NAME_WIDTH}}{value}" for name, value in rows))


def _baseline(result: EngineResult) -> str:
    kind = _TITLES.get(result.baseline.kind, result.baseline.kind)
    return f"{kind} {result.baseline.version}".rstrip()


def _measured(result: EngineResult) -> list[tuple[str, str]]:
    kind = _TITLES.get(result.baseline.kind, result.baseline.kind)
    bounds = result.baseline_speedup_ci95
    settings = ", ".join(f"{name} {value}" for name, value in result.settings.items() if name != "threads")
    return [
        ("speed-up", f"{kind} is {measured_speedup(result.baseline_speedup, bounds)} as fast as {result.engine}, "
                     f"95 % interval {interval(bounds)}"),
        ("latency", f"{latency(result.latency_s.engine)} {result.engine}, "
                    f"{latency(result.latency_s.baseline)} {kind}"),
        ("rCV", f"{share(result.rcv.engine)} {result.engine}, {share(result.rcv.baseline)} {kind}, "
                f"{share(result.rcv.speedup)} speed-up"),
        ("quality", f"{result.quality}, {result.pairs} pairs, calls a block: {result.calls_per_block}"),
        ("threads", f"{result.threads} on both sides"),
        ("settings", f"{settings}; prepared in {elapsed(result.prepare_s)}"),
    ]  # fmt: skip
