"""Holds a clock at one frequency through its nodes: by a set point, else by a governor, else by its limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from edgelab.drivers.device_state import ClockDomain
from edgelab.drivers.families.clock_judgement import label, mhz
from edgelab.drivers.families.clock_nodes import names_of
from edgelab.drivers.families.node_writing import NodeRefused, write_node
from edgelab.drivers.family import LockOutcome, OnStep
from edgelab.drivers.transport import LinkFailure, Transport
from edgelab.errors import EvaluationFailure


async def hold(board: Transport, clock: ClockDomain, step_hz: int, on_step: OnStep) -> None:
    """Hold `clock` at `step_hz`, a step of its table. Raises `NodeRefused`, `LinkFailure`.

    The upper limit is written before the lower one: a lower limit above the upper one is refused by kernels
    before 5.5 and silently loses on later ones.
    """
    names = names_of(clock)
    step = str(step_hz // names.unit_hz)
    if clock.max_hz != step_hz:
        await write_node(board, f"{clock.source}/{names.high}", step, on_step)
    if clock.min_hz is not None and clock.min_hz > step_hz:
        await write_node(board, f"{clock.source}/{names.low}", step, on_step)
    refused: NodeRefused | None = None
    for way in _ways(clock):
        try:
            await way(board, clock, step, on_step)
        except NodeRefused as error:
            on_step(f"{label(clock)}: {error.message} The next way is tried.")
            refused = error
        else:
            on_step(f"{label(clock)} is told to stay at {mhz(step_hz)}")
            return
    assert refused is not None, "the limits are always a way"
    raise refused


async def set_governor(board: Transport, clock: ClockDomain, governor: str, on_step: OnStep) -> None:
    """Put a clock under `governor`. Raises `NodeRefused` also when the kernel does not offer it."""
    if clock.governors and governor not in clock.governors:
        listed = ", ".join(clock.governors)
        raise NodeRefused(f"The {label(clock)} has no governor {governor}: it has {listed}.")
    if clock.governor != governor:
        await write_node(board, f"{clock.source}/{names_of(clock).governor}", governor, on_step)


_Way = Callable[[Transport, ClockDomain, str, OnStep], Awaitable[None]]


def _ways(clock: ClockDomain) -> list[_Way]:
    """Return the ways to hold a clock, best first: a kernel may lack a governor, or list it and refuse it."""
    ways: list[_Way] = []
    # A CPU's set point would keep the scheduler from parking idle cores; `performance` holds it as well.
    if "userspace" in clock.governors and clock.kind != "cpu":
        ways.append(_by_set_point)
    if "performance" in clock.governors:
        ways.append(_by_performance)
    return [*ways, _by_limits]


async def _by_set_point(board: Transport, clock: ClockDomain, step: str, on_step: OnStep) -> None:
    await set_governor(board, clock, "userspace", on_step)
    await write_node(board, f"{clock.source}/{names_of(clock).setpoint}", step, on_step)


async def _by_performance(board: Transport, clock: ClockDomain, step: str, on_step: OnStep) -> None:
    await set_governor(board, clock, "performance", on_step)


async def _by_limits(board: Transport, clock: ClockDomain, step: str, on_step: OnStep) -> None:
    await write_node(board, f"{clock.source}/{names_of(clock).low}", step, on_step)


async def told(action: Awaitable[LockOutcome]) -> LockOutcome:
    """Return how `action` went; what the board refuses becomes an outcome. Raises `LinkFailure` for a lost link."""
    try:
        return await action
    except LinkFailure as failure:
        if failure.problem != "sudo":
            raise
        return LockOutcome(
            done=False,
            problem=failure.message,
            advice=failure.advice
            or "Give the login user sudo on the board, or say how it is reached in lab.toml.",
        )
    except EvaluationFailure as refused:
        return LockOutcome(done=False, problem=refused.message, advice=refused.advice)
