"""Times the libraries of a bundle on the device, through the worker, whatever the worker goes through."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from edgelab.bench.device_watch import UNWATCHED, DeviceWatch
from edgelab.bench.memory_limit import memory_limit_bytes
from edgelab.bench.services import Services
from edgelab.drivers.worker_messages import KernelPlan, TimedKernel
from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.kernel.tuning.protocol import Bundle, KernelTensor, Measurement

_ATTEMPTS = 2
_KERNEL_LIMIT_S = 20.0
_INPUT_SEED = 1


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """How long one kernel is timed: `blocks` of about `block_s` seconds; one call if that takes `single_s`."""

    block_s: float
    blocks: int
    single_s: float

    def against(self, best_s: float | None) -> Effort:
        """The effort for a candidate: one that takes three times as long as the best is not timed closely."""
        return self if best_s is None else msgspec.structs.replace(self, single_s=3 * best_s)


TRIAL = Effort(block_s=0.004, blocks=3, single_s=0.1)
"""For a trial of a search: enough to rank it."""

CLOSE = Effort(block_s=0.01, blocks=3, single_s=0.2)
"""For finalists and default schedules."""


class KernelMeasuring:
    """Measures kernels over the services of a device."""

    def __init__(self, services: Services, watch: DeviceWatch = UNWATCHED) -> None:
        self._services = services
        self._watch = watch

    async def measure(
        self,
        bundle: Bundle,
        tensors: Sequence[KernelTensor],
        effort: Effort,
        *,
        backwards: bool = False,
        last: bool = False,
    ) -> list[Measurement]:
        """Seconds of every kernel of the bundle, in its order.

        `backwards` times them from the last to the first; `last` says that the bundle is not measured again, so
        that the device forgets it.

        A worker that dies is replaced and the bundle is measured anew. Raises EvaluationFailure
        (infrastructure) when that does not help, and ClocksLost when the device is not as it was.
        """
        present = [index for index, place in enumerate(bundle.places) if place is not None]
        order = present[::-1] if backwards else present
        timed = await self._timed(bundle, order, tensors, effort, last) if order else ()
        found = [Measurement(error=error) for error in bundle.errors]
        for index, kernel in zip(order, timed, strict=True):
            found[index] = _measurement(kernel)
        return found

    async def _timed(
        self,
        bundle: Bundle,
        order: Sequence[int],
        tensors: Sequence[KernelTensor],
        effort: Effort,
        last: bool,
    ) -> Sequence[TimedKernel]:
        digest = await self._services.transport.put(Path(bundle.path))
        places = [place for index in order if (place := bundle.places[index]) is not None]
        for left in reversed(range(_ATTEMPTS)):
            worker = await self._services.worker()
            try:
                plan = await self._plan(effort, last)
                shapes = [(tensor.shape, tensor.dtype) for tensor in tensors]
                timed = await worker.measure_kernels(digest, places, "main", shapes, plan)
                self._watch.confirm(await worker.sample(self._watch.nodes))
            except EvaluationFailure as failure:
                died = failure.failure_class is FailureClass.INFRASTRUCTURE and not worker.usable
                if not left or not died:
                    raise
            else:
                return timed.kernels
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _plan(self, effort: Effort, last: bool) -> KernelPlan:
        worker = await self._services.worker()
        hello = await worker.hello()
        return KernelPlan(
            seed=_INPUT_SEED,
            block_s=effort.block_s,
            blocks=effort.blocks,
            single_s=effort.single_s,
            time_s=_KERNEL_LIMIT_S,
            memory_bytes=await memory_limit_bytes(worker),
            threads=hello.cpu_count or 1,
            forget=last,
        )


def _measurement(kernel: TimedKernel) -> Measurement:
    if kernel.failure_class:
        return Measurement(error=f"{kernel.failure_class}: {kernel.message}")
    return Measurement(run_s=kernel.latencies_s)
