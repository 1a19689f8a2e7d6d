"""The model of a watched tuning: a pure fold of its events into what each kernel has reached."""

from __future__ import annotations

from typing import Literal

import msgspec

from edgelab.events import KernelTuned, TuningEnded, TuningKernel, TuningProgress, TuningStarted

KernelState = Literal["waiting", "searched", "tuned", "plain", "fallback", "failed"]

TuningEvent = TuningStarted | TuningProgress | KernelTuned | TuningEnded


class KernelView(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel. `best_s` is the best latency in seconds after each batch of trials, None while nothing ran.

    `final_s` is its latency at the end, when the finalists were measured side by side.
    """

    kernel: TuningKernel
    state: KernelState = "waiting"
    trials: int = 0
    failed: int = 0
    search: int = 0
    best_s: tuple[float | None, ...] = ()
    final_s: float | None = None
    converged_at: int | None = None
    error: str = ""

    @property
    def latency_s(self) -> float | None:
        """Seconds of one call with the best that is known; the default schedule's before any is."""
        found = self.final_s or next((best for best in reversed(self.best_s) if best is not None), None)
        plain = self.kernel.plain_latency_s
        if found is None or (plain is not None and plain < found):
            return plain
        return found


class TuningView(msgspec.Struct, frozen=True):
    """All kernels of the task in the order in which they are tuned. `spent_s` adds up what batches took."""

    started: TuningStarted
    kernels: tuple[KernelView, ...]
    ended: TuningEnded | None = None
    generate_s: float = 0.0
    build_s: float = 0.0
    measure_s: float = 0.0
    program_s: tuple[float | None, ...] = ()
    """Seconds that all kernels take together after each batch: latency times weight, None where one is unknown."""

    @property
    def current(self) -> KernelView | None:
        """The kernel that is searched now, else the last one that was."""
        searched = [kernel for kernel in self.kernels if kernel.best_s]
        under_way = [kernel for kernel in searched if kernel.state == "searched"]
        return under_way[-1] if under_way else (searched[-1] if searched else None)

    @property
    def trials(self) -> int:
        """Trials of all kernels."""
        return sum(kernel.trials for kernel in self.kernels)

    @property
    def failed(self) -> int:
        """Trials that did not build, crashed or hung."""
        return sum(kernel.failed for kernel in self.kernels)

    @property
    def spent_s(self) -> float:
        """Seconds in batches."""
        return self.generate_s + self.build_s + self.measure_s


def taken(view: TuningView | None, body: TuningEvent) -> TuningView | None:
    """Return the view after an event; None as long as the tuning has not begun."""
    if isinstance(body, TuningStarted):
        return TuningView(body, tuple(KernelView(kernel=kernel) for kernel in body.kernels))
    if view is None:
        # The events' tail began after it.
        return None
    if isinstance(body, TuningEnded):
        return msgspec.structs.replace(view, ended=body)
    kernels = tuple(
        _progressed(kernel, body) if kernel.kernel.digest == body.digest else kernel
        for kernel in view.kernels
    )
    view = msgspec.structs.replace(view, kernels=kernels, program_s=(*view.program_s, _program_s(kernels)))
    if isinstance(body, TuningProgress):
        view = msgspec.structs.replace(
            view,
            generate_s=view.generate_s + body.generate_s,
            build_s=view.build_s + body.build_s,
            measure_s=view.measure_s + body.measure_s,
        )
    return view


def _progressed(view: KernelView, body: TuningProgress | KernelTuned) -> KernelView:
    if isinstance(body, TuningProgress):
        return msgspec.structs.replace(
            view,
            state="searched",
            trials=body.trials,
            failed=body.failed,
            search=body.search,
            best_s=(*view.best_s, body.best_latency_s),
        )
    return msgspec.structs.replace(
        view,
        state=body.state,  # type: ignore[arg-type] # the event's own words
        trials=body.trials,
        final_s=body.tuned_latency_s,
        converged_at=body.converged_at,
        error=body.error,
    )


def _program_s(kernels: tuple[KernelView, ...]) -> float | None:
    times = [kernel.latency_s for kernel in kernels]
    known = [time_s for time_s in times if time_s is not None]
    if len(known) < len(times):
        return None
    return sum(time_s * kernel.kernel.weight for time_s, kernel in zip(known, kernels, strict=True))
