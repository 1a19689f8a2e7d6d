"""The shell script of a probe, and the reading of what it prints: one round trip for files and commands.

POSIX sh with grep, timeout, head and date, as GNU, BusyBox and toybox have them. All files are read by one
`grep -H ''`, because a process for each of them would cost a small board more than the reading. Every
section begins with a line that holds a nonce, so that nothing a board prints can be taken for one.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterable, Sequence

import msgspec

from edgelab.drivers.probe import Command, CommandOutput, ProbeReply, ProbeRequest

OUTPUT_LIMIT_BYTES = 64 << 10
_KILL_AFTER_S = 1
_RAMP_S = 0.4
_TIMED_OUT = (124, 137, 143)
"""What `timeout` ends with when it had to end its command: by SIGTERM, by SIGKILL, and BusyBox's by SIGTERM."""

_PLAIN = re.compile(r"[A-Za-z0-9_./:@+,*?\[\]-]+")
_NO_REASON = ("No such file or directory", "Is a directory")


class ProbeCut(ValueError):
    """The reply of a probe ends before its end; `received` is how many bytes came."""

    def __init__(self, received: int) -> None:
        super().__init__(f"the reply was cut after {received} bytes")
        self.received = received


class Sections(msgspec.Struct, frozen=True):
    """What one script printed: files and refusals by path (without the root prefix), outputs by name."""

    files: dict[str, bytes]
    refused: dict[str, str]
    outputs: dict[str, CommandOutput]
    board_time_s: float | None


def script(patterns: Sequence[str], commands: Sequence[Command], *, nonce: str, root: str = "") -> str:
    """Return the script that prints files matching `patterns`, and runs `commands`, marked by `nonce`.

    `root` goes in front of absolute paths. Raises ValueError for a pattern with characters that no node has.
    """
    mark = f"printf '\\n%s %s\\n' {nonce}"
    lines = ["export LC_ALL=C", 'PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"', f"{mark} time", "date +%s.%N"]
    background = [_start(command, root) for command in commands if command.background]
    # Clocks need a moment to follow a load.
    lines += [*background, f"sleep {_RAMP_S}"] if background else []
    if patterns:
        globs = " ".join(_glob(pattern, root) for pattern in patterns)
        lines += [
            "g='grep -aH'",
            # BusyBox takes everything for text and does not know -a.
            "echo x | $g x >/dev/null 2>&1 || g='grep -H'",
            f"{mark} files",
            f"{{ e=$($g '' {globs} /dev/null 2>&1 >&3 3>&-); }} 3>&1",
            f"{mark} refused",
            "printf '%s\\n' \"$e\"",
        ]
    for command in commands:
        if not command.background:
            lines += _run(command, root, mark)
    if background:
        # The load must not be taken for somebody else's by the next look.
        lines += ["kill $loads 2>/dev/null; wait $loads 2>/dev/null"]
    lines += [f"{mark} background\\ {command.name}" for command in commands if command.background]
    lines.append(f"{mark} end")
    return "\n".join(lines) + "\n"


def _glob(pattern: str, root: str) -> str:
    if not _PLAIN.fullmatch(pattern):
        raise ValueError(f"{pattern!r} is no pattern of a node's path")
    return under(root, pattern, quoted=True)


def under(root: str, path: str, *, quoted: bool = False) -> str:
    """Return an absolute `path` under the folder `root`, and a relative one as it is."""
    if not path.startswith("/") or not root:
        return path
    prefix = root.rstrip("/")
    return (shlex.quote(prefix) if quoted else prefix) + path


def argv_under(root: str, argv: Sequence[str]) -> list[str]:
    """Return a command whose program, if it is named by an absolute path, lies under `root`."""
    return [under(root, argv[0]), *argv[1:]]


def _limited(command: Command, root: str) -> str:
    words = shlex.join(argv_under(root, command.argv))
    return f"timeout -k {_KILL_AFTER_S} {command.time_limit_s:g} {words}"


def _start(command: Command, root: str) -> str:
    return f'{_limited(command, root)} </dev/null >/dev/null 2>&1 & loads="$loads $!"'


def _run(command: Command, root: str, mark: str) -> list[str]:
    piped = f"{{ {_limited(command, root)} </dev/null 2>&1 4>&-; echo $? >&4; }}"
    return [
        f"{mark} command\\ {command.name}",
        # The status takes another way than the output, which is cut.
        f"{{ s=$({{ {piped} | head -c {OUTPUT_LIMIT_BYTES} >&3; }} 4>&1 3>&3); }} 3>&1",
        f'{mark} "status $s"',
    ]


def parse(reply: bytes, patterns: Sequence[str], *, nonce: str, root: str = "") -> Sections:
    """Read what the script printed. Raises `ProbeCut` when its end is missing."""
    sections = _split(reply, nonce)
    if not sections or sections[-1][0] != "end":
        raise ProbeCut(len(reply))
    path_of = _path_pattern(patterns, root)
    files: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    outputs: dict[str, CommandOutput] = {}
    board_time_s = None
    name = ""
    for title, body in sections:
        kind, _, rest = title.partition(" ")
        if kind == "time":
            board_time_s = _time(body)
        elif kind == "files":
            files = _files(body, path_of, root)
        elif kind == "refused":
            refused = _refused(body, root)
        elif kind == "command":
            name, outputs[rest] = rest, CommandOutput(None, body)
        elif kind == "status" and name:
            outputs[name] = CommandOutput(_status(rest), outputs[name].output)
        elif kind == "background":
            outputs[rest] = CommandOutput(None, b"")
    return Sections(files, refused, outputs, board_time_s)


def _split(reply: bytes, nonce: str) -> list[tuple[str, bytes]]:
    """Return the sections as (title, body), in order; the newline before a mark belongs to the mark."""
    parts = re.split(rb"(?:\A|\n)%s ([^\n]*)\n" % re.escape(nonce.encode()), reply)
    titles = [title.decode(errors="replace") for title in parts[1::2]]
    return list(zip(titles, parts[2::2], strict=True))


def _path_pattern(patterns: Sequence[str], root: str) -> re.Pattern[bytes]:
    """Return a pattern for the beginning of a line: the path that one of the shell patterns matches."""
    return re.compile(b"(" + b"|".join(_as_regex(under(root, pattern)) for pattern in patterns) + b"):")


def _as_regex(pattern: str) -> bytes:
    """Translate a shell pattern of a path: stars and question marks stay within a folder."""
    translated = re.sub(r"\\\*", "[^/\n]*?", re.escape(pattern))
    translated = re.sub(r"\\\?", "[^/\n]", translated)
    # A range's hyphen was escaped as well, which would make it one of the characters.
    return re.sub(r"\\\[(.*?)\\\]", _as_class, translated).encode()


def _as_class(found: re.Match[str]) -> str:
    return "[" + found[1].replace("\\-", "-") + "]"


def _files(body: bytes, path_of: re.Pattern[bytes], root: str) -> dict[str, bytes]:
    lines: dict[str, list[bytes]] = {}
    for line in body.split(b"\n"):
        if found := path_of.match(line):
            lines.setdefault(_without(found[1].decode(errors="replace"), root), []).append(
                line[found.end() :]
            )
    return {path: b"\n".join(texts) + b"\n" for path, texts in lines.items()}


def _without(path: str, root: str) -> str:
    return path.removeprefix(root.rstrip("/")) if root else path


def _refused(body: bytes, root: str) -> dict[str, str]:
    """Read grep's complaints, `grep: PATH: REASON`; what is simply not there is no refusal."""
    found = {}
    for line in body.decode(errors="replace").splitlines():
        _, _, rest = line.partition(": ")
        path, _, reason = rest.rpartition(": ")
        if path and not reason.startswith(_NO_REASON):
            found[_without(path, root)] = reason
    return found


def _time(body: bytes) -> float | None:
    # BusyBox and toybox may print the N of %N as it is.
    found = re.match(rb"\s*(\d{1,12})(\.\d{1,9})?\b", body)
    return float(found[0]) if found else None


def _status(text: str) -> int | None:
    if not re.fullmatch(r"[0-9]{1,3}", text) or int(text) in _TIMED_OUT:
        return None
    return int(text)


def parted(request: ProbeRequest) -> tuple[tuple[Command, ...], tuple[Command, ...]]:
    """Return the commands of the login user's script and of root's, which is empty when root has nothing to do."""
    own = tuple(command for command in request.commands if not command.root)
    roots = tuple(command for command in request.commands if command.root)
    if request.root_files or roots:
        # What root reads under load needs a load of its own: the two looks do not wait for each other.
        roots += tuple(command for command in own if command.background)
    return own, roots


def replied(parts: Iterable[Sections], started_s: float, sudo_problem: str) -> ProbeReply:
    """Return what the scripts of one probe brought, which ends now; `started_s` is epoch seconds."""
    whole = merged(parts)
    return ProbeReply(
        files=whole.files,
        refused=whole.refused,
        outputs=whole.outputs,
        sudo_problem=sudo_problem,
        board_time_s=whole.board_time_s,
        started_s=started_s,
        ended_s=time.time(),
    )


def merged(parts: Iterable[Sections]) -> Sections:
    """Return several scripts' sections as one; of the clock the first reading counts."""
    whole = Sections({}, {}, {}, None)
    for part in parts:
        whole.files.update(part.files)
        whole.refused.update(part.refused)
        whole.outputs.update(part.outputs)
        if whole.board_time_s is None:
            whole = msgspec.structs.replace(whole, board_time_s=part.board_time_s)
    return whole
