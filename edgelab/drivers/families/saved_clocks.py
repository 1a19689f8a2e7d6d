"""What EdgeLab keeps on a board of the clocks it had: written before the first change, gone after restoring."""

from __future__ import annotations

import msgspec

from edgelab.drivers.board_folder import FOLDER, SAVED_CLOCKS
from edgelab.drivers.device_state import SavedClocks
from edgelab.drivers.transport import Transport
from edgelab.errors import EvaluationFailure, FailureClass

PATH = SAVED_CLOCKS

_FILE_LIMIT_S = 10.0


def decode(data: bytes) -> SavedClocks | None:
    """Return what `PATH` held, None when that makes no sense.

    A file cut short by a crash is no loss: nothing on a board is changed before its file is whole.
    """
    try:
        return msgspec.json.decode(data, type=SavedClocks)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


async def store(board: Transport, saved: SavedClocks) -> None:
    """Write `saved` on the board and read it back.

    Raises `EvaluationFailure` (infrastructure) when it does not stay there: then nothing may be changed.
    """
    await _run(board, ("mkdir", "-p", FOLDER))
    await board.write(PATH, msgspec.json.encode(saved))
    data = (await board.read_many([PATH]))[PATH]
    if data is None or decode(data) != saved:
        raise EvaluationFailure(
            FailureClass.INFRASTRUCTURE,
            f"{board.device}: {PATH} does not hold what was written, so nothing was changed.",
            advice="Free disk space on the board, then lock again.",
        )


async def clear(board: Transport) -> None:
    """Remove what was stored: everything in it was put back. Raises `EvaluationFailure` (infrastructure)."""
    await _run(board, ("rm", "-f", PATH))


async def _run(board: Transport, argv: tuple[str, ...]) -> None:
    result = await board.run(argv, _FILE_LIMIT_S)
    if result.exit_code != 0:
        said = result.stderr.decode(errors="replace").strip() or f"exit status {result.exit_code}"
        raise EvaluationFailure(
            FailureClass.INFRASTRUCTURE,
            f"{board.device}: {' '.join(argv)} failed: {said}.",
            advice="Give the login user's folder on the board free space and the user's own rights.",
        )
