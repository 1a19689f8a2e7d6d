"""Writes a knob of the kernel and reads it back: only what it then holds is believed."""

from __future__ import annotations

from collections.abc import Sequence

from edgelab.drivers.family import OnStep
from edgelab.drivers.transport import LinkFailure, Transport
from edgelab.errors import EvaluationFailure, FailureClass

_KHZ = 1000
_LEAST_HZ = 10_000_000


class NodeRefused(EvaluationFailure):
    """A knob did not take a value: the kernel refused it, or it holds another one afterwards."""

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(FailureClass.INFRASTRUCTURE, message, detail=detail)


def same(held: str, wanted: str) -> bool:
    """Whether a knob holds what was wanted; frequencies in Hz may be rounded down to whole kHz.

    The kernel keeps limits of devfreq in kHz since 5.5 (PM QoS); cpufreq's nodes are in kHz themselves.
    """
    if held == wanted:
        return True
    if not (held.isdecimal() and wanted.isdecimal()):
        return False
    return min(int(held), int(wanted)) >= _LEAST_HZ and abs(int(held) - int(wanted)) < _KHZ


async def write_node(board: Transport, path: str, value: str, on_step: OnStep) -> None:
    """Write `value` as root and read it back. Raises `NodeRefused`, `LinkFailure`."""
    try:
        await board.write(path, f"{value}\n".encode(), root=True)
    except LinkFailure:
        raise
    except EvaluationFailure as refused:
        said = refused.detail or refused.message
        raise NodeRefused(f"{path} does not take {value}: {said}", detail=said) from refused
    held = (await read_nodes(board, [path]))[path]
    if held is None:
        raise NodeRefused(f"{path} cannot be read back after {value} was written.")
    if not same(held, value):
        raise NodeRefused(f"{path} holds {held} after {value} was written.")
    on_step(f"{path} = {held}")


async def read_nodes(board: Transport, paths: Sequence[str]) -> dict[str, str | None]:
    """Read knobs as text; None for one that cannot be read. Raises `LinkFailure`."""
    found = await board.read_many(paths)
    return {
        path: None if data is None else data.decode(errors="replace").strip()
        for path, data in ((path, found.get(path)) for path in paths)
    }


async def write_back(
    board: Transport, nodes: Sequence[tuple[str, str]], on_step: OnStep
) -> tuple[NodeRefused, ...]:
    """Write every knob that holds something else than `nodes` say; returns what did not take its value.

    One pass may leave some: a limit is refused while the other one stands on the wrong side of it, and is
    taken once that has moved. So what is left is tried again for as long as something moves.
    """
    left = list(nodes)
    refused: list[NodeRefused] = []
    for _ in range(len(nodes) + 1):
        held = await read_nodes(board, [path for path, _ in left])
        left = [(path, value) for path, value in left if not same(held[path] or "", value)]
        refused = []
        for path, value in left:
            try:
                await write_node(board, path, value, on_step)
            except NodeRefused as error:
                refused.append(error)
        if not refused or len(refused) == len(left):
            break
    return await _still_wrong(board, nodes, refused)


async def _still_wrong(
    board: Transport, nodes: Sequence[tuple[str, str]], refused: Sequence[NodeRefused]
) -> tuple[NodeRefused, ...]:
    """Look at all of them once more: a later write may have moved an earlier one."""
    if refused:
        return tuple(refused)
    held = await read_nodes(board, [path for path, _ in nodes])
    return tuple(
        NodeRefused(f"{path} holds {held[path] or 'nothing readable'} instead of {value}.")
        for path, value in nodes
        if not same(held[path] or "", value)
    )
