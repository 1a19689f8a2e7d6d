"""The lease of a board: a lock file on the board, held by flock(1) for as long as its holder lives.

The lock is the board's kernel's, so it falls with the process that holds it. That process reads its standard
input, which is the channel to the controller: it ends when the channel closes, and also when no line came
for a while, because a controller that lost its network does not close anything.
"""

from __future__ import annotations

import msgspec

from edgelab.drivers.device_state import LeaseHolder
from edgelab.drivers.probe import Command, CommandOutput

HEARTBEAT_S = 5.0
"""How often the holder's process is told that the controller lives."""

SILENCE_LIMIT_S = 30.0
"""After so long without a word from the controller the board is free again."""

TAKEN = b"taken"
HELD = b"held"
MISSING = b"missing"

_READ = """
export LC_ALL=C
[ -e "$1" ] || { echo free; exit; }
command -v flock >/dev/null 2>&1 || { echo missing; exit; }
exec 9<"$1" && flock -n -s 9 && echo free && exit
echo held; cat "$1"
"""

# Opened for reading: another user's file in a sticky folder may not be opened for writing with O_CREAT.
# Tried again: whoever looks whether the lease is free holds it, shared, for as long as that takes.
_HOLD = r"""
export LC_ALL=C; umask 0; PATH="$PATH:/usr/sbin:/sbin"
command -v flock >/dev/null 2>&1 || { echo missing; exit 3; }
case "$1" in */*) [ -d "${1%/*}" ] || mkdir -p "${1%/*}";; esac
[ -e "$1" ] || : >>"$1" || exit 3
exec 9<"$1" || exit 3
flock -n 9 || { sleep 0.1; flock -n 9; } || { sleep 0.2; flock -n 9; } || { echo held; cat "$1"; exit 0; }
IFS= read -r holder
{ printf '%s\n' "$holder" >"$1"; } 2>/dev/null || printf '%s\n' "$holder" | dd of="$1" conv=nocreat 2>/dev/null
echo taken
while timeout "$2" sh -c 'IFS= read -r beat' 9<&-; do :; done
"""


def lease_command(path: str) -> Command:
    """Return the command of a probe that tells whether the lease at `path` is free, else who holds it."""
    return Command(name="lease", argv=("sh", "-c", _READ, "sh", path), time_limit_s=3.0)


def read_lease(output: CommandOutput | None) -> tuple[bool | None, LeaseHolder | None]:
    """Read what `lease_command` printed: whether the lease is free (None: not known), and its holder."""
    if output is None or output.exit_code != 0:
        return None, None
    word, _, rest = output.output.partition(b"\n")
    if word.strip() == b"free":
        return True, None
    return (False, decode_holder(rest)) if word.strip() == HELD else (None, None)


def decode_holder(text: bytes) -> LeaseHolder | None:
    """Return the holder that signed the lock file; None when it has not signed yet."""
    try:
        return msgspec.json.decode(text.strip(), type=LeaseHolder)
    except msgspec.DecodeError:
        return None


def hold_argv(path: str, silence_limit_s: float = SILENCE_LIMIT_S) -> tuple[str, ...]:
    """Return the command that takes and holds the lease at `path`.

    It wants the signature as its first line of input, answers `taken`, `held` (and who holds it) or
    `missing` (there is no flock), and then holds the lease for as long as a line comes every so often.
    """
    return ("sh", "-c", _HOLD, "sh", path, f"{silence_limit_s:g}")


def signature(holder: LeaseHolder) -> bytes:
    """Return the line that signs a lease."""
    return msgspec.json.encode(holder) + b"\n"
