"""Candidate and baseline in children of a worker: loaded, loaded anew, and ended with a look at how they end."""

from __future__ import annotations

import contextlib

import msgspec

from edgelab.drivers.worker_client import ProgramFailure, WorkerClient
from edgelab.drivers.worker_messages import ExecutionDevice, Limits, Tolerance
from edgelab.errors import EvaluationFailure, FailureClass
from edgelab.events import Role

_ROLES: tuple[Role, Role] = ("candidate", "baseline")


class TimedInputs(msgspec.Struct, frozen=True):
    """Inputs that are timed in turn and the outputs that belong to them (blob hashes), in one order."""

    inputs: tuple[str, ...]
    expected: tuple[str, ...]
    tolerance: Tolerance


class ProgramPair:
    """The two programs of one evaluation, each in a child of its own.

    `artefacts` are blob hashes on the device by role; both run on `device` there. Children that are timed must
    not differ in what they did before, so they are loaded anew for it, both in the same way.
    """

    def __init__(
        self,
        worker: WorkerClient,
        task: str,
        artefacts: dict[Role, str],
        limits: Limits,
        device: ExecutionDevice,
    ) -> None:
        self.worker = worker
        self._task = task
        self._artefacts = artefacts
        self._limits = limits
        self._device = device

    async def load(self, role: Role) -> None:
        """Load one of the two, in place of its child of before."""
        await self.worker.load(role, self._artefacts[role], self._limits, self._device)

    async def load_for_timing(self, number: int, timed: TimedInputs) -> None:
        """Load both anew for timing session `number`, with the inputs that are timed in turn."""
        await self.unload_candidate()
        # Who is loaded first alternates, as the order within pairs does.
        for role in (_ROLES[number % 2], _ROLES[1 - number % 2]):
            await self.load(role)
        for role in _ROLES:
            await self.worker.rotate_timing(role, timed.inputs, timed.expected, timed.tolerance)

    async def unload_candidate(self) -> None:
        """End the candidate. Raises `EvaluationFailure` (memory) when it does not end cleanly.

        Stores just outside of a buffer show as a heap that aborts at exit: only a clean exit counts. The
        baseline is not asked: it is replaced by the next one that is loaded.
        """
        ended = await self.worker.unload("candidate")
        if not ended.clean:
            raise ProgramFailure(
                FailureClass.MEMORY,
                f"The candidate for {self._task} gave right results but did not end cleanly ({ended.exit}): "
                "it most likely writes outside its buffers.",
                detail=ended.stderr_tail,
                program="candidate",
            )

    async def discard(self) -> None:
        """End both after a failure; a program that is gone already is what is wanted."""
        for role in _ROLES:
            if self.worker.usable:
                with contextlib.suppress(EvaluationFailure):
                    await self.worker.unload(role)

    def blamed(self, failure: EvaluationFailure) -> EvaluationFailure:
        """Return the failure to report: one of the imported program is not held against a candidate."""
        imported = self._artefacts["candidate"] == self._artefacts["baseline"]
        if not isinstance(failure, ProgramFailure) or (failure.program != "baseline" and not imported):
            return failure
        return EvaluationFailure(
            FailureClass.INFRASTRUCTURE,
            f"The imported program of {self._task} failed ({failure.failure_class}): {failure.message}",
            detail=failure.detail,
            advice="Nothing can be compared with it; run again, and if it fails again, leave this task out.",
        )
