"""The shell around a remote command: its processes end with its channel, whatever ends that.

asyncssh ends a channel, not what runs in it; a time limit, a cancellation and a broken link would all leave
the command running. So a small shell starts the command as the leader of a session of its own, watches the
channel's standard input, and kills the session's processes when that closes. Through sudo the same shell
runs as root, because nobody else may kill root's processes.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Sequence

from edgelab.drivers.ssh.address import SudoMode

_INPUT = "edgelab-input:"
"""Begins the line that holds the command's input: what comes before it was meant for sudo.

A sudo that wants no password (NOPASSWD, remembered credentials) leaves it in the stream, and it must reach
no command and no file.
"""

# The group may not be there yet when the channel closes at once: then the shell that will lead it is killed.
_WATCH = (
    r"""
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"; limit="$1"; shift
exec 3<&0
input=
until [ "${input#MARK}" != "$input" ]; do IFS= read -r input <&3 || exit 125; done
printf '%s' "${input#MARK}" | base64 -d | setsid timeout -k 1 "$limit" "$@" 3<&- &
child=$!
end() { kill -s KILL -- -$child; kill -s KILL $child; }
{ cat <&3; end; } >/dev/null 2>&1 &
watcher=$!
wait $child; status=$?
{ kill $watcher; kill -s KILL -- -$child; } >/dev/null 2>&1
exit $status
"""
).replace("MARK", _INPUT)

_IS_ROOT = '[ "$(id -u)" = 0 ]'
"""Who logs in as root needs no sudo, and may not even have it."""


def command_line(argv: Sequence[str], time_limit_s: float, *, sudo: SudoMode | None = None) -> str:
    """Return the line for the board's login shell. `sudo` None runs the command as the login user.

    The board's own time limit is a second longer than the controller's, which tells more about the command.
    """
    watched = shlex.join(["sh", "-c", _WATCH, "sh", f"{time_limit_s + 1:g}", *argv])
    if sudo == "passwordless":
        return f"{_IS_ROOT} && exec {watched}; exec sudo -n {watched}"
    if sudo == "password":
        return f"{_IS_ROOT} && exec {watched}; exec sudo -S -p '' {watched}"
    return f"exec {watched}"


TRY_PASSWORD = f"""{_IS_ROOT} && exit 0; IFS= read -r given; printf '%s\\n' "$given" | sudo -S -p '' true"""
"""Lets sudo judge a password, given as one line. Its input ends there, so a wrong one costs one attempt and no
wait: with the channel as its input sudo would ask again, and wait until the time limit."""


def input_lines(stdin: bytes, password: str | None) -> bytes:
    """Return what the line reads first: sudo's password where it wants one, then the command's own input."""
    secret = b"" if password is None else password.encode() + b"\n"
    return secret + _INPUT.encode() + base64.b64encode(stdin) + b"\n"
