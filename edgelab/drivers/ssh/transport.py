"""Transport over SSH: see `drivers.transport.Transport` for what each operation promises."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
import shlex
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import asyncssh

from edgelab.drivers import board_lease
from edgelab.drivers.device_state import LeaseHolder
from edgelab.drivers.probe import Command, ProbeReply, ProbeRequest
from edgelab.drivers.probe_script import (
    ProbeCut,
    Sections,
    argv_under,
    parse,
    parted,
    replied,
    script,
    under,
)
from edgelab.drivers.ssh.address import SshAddress
from edgelab.drivers.ssh.blobs import BlobUpload
from edgelab.drivers.ssh.link import OutputTooLong, Process, SshLink, together
from edgelab.drivers.ssh.link_failures import failure_of
from edgelab.drivers.ssh.remote_command import TRY_PASSWORD, command_line, input_lines
from edgelab.drivers.ssh.worker import RemoteWorker, start_worker
from edgelab.drivers.sudo import sudo_refusal
from edgelab.drivers.transport import CommandResult, LeaseHeld, LinkFailure, OnBytes
from edgelab.errors import EvaluationFailure, FailureClass, NotReadyError

_FILES_LIMIT_S = 10.0
_LEASE_LIMIT_S = 10.0
_GIVE_BACK_LIMIT_S = 2.0
_PROBE_SLACK_S = 5.0
_SUDO_LIMIT_S = 10.0
_MOST_FILE_BYTES = 1 << 20

_READ_EXACTLY = r"""
limit="$1"; shift
for path in "$@"; do
    printf '\n'
    if [ -r "$path" ] && [ ! -d "$path" ]; then printf +; head -c "$limit" "$path" | base64 | tr -d '\n'; fi
done
"""

_REPLACE = 'mkdir -p "$(dirname "$1")" && cat >"$1.part" && mv -f "$1.part" "$1"'


class SshTransport:
    """One device over one SSH connection. `password` is sudo's, known to nobody but sudo's standard input."""

    def __init__(self, link: SshLink, password: str | None = None) -> None:
        self._link = link
        self._address = link.address
        self._password = password
        self._blobs = BlobUpload(link)
        self._password_lock = asyncio.Lock()
        self._password_verdict: str | None = None

    @classmethod
    async def connect(
        cls, address: SshAddress, *, password: str | None = None, trust_new_key: bool = False
    ) -> SshTransport:
        """Connect to a device. Raises `LinkFailure` that says what is wrong with the way there."""
        return cls(await SshLink.connect(address, trust_new_key=trust_new_key), password)

    @property
    def device(self) -> str:
        """Name of the device."""
        return self._address.device

    async def probe(self, request: ProbeRequest) -> ProbeReply:
        """See `Transport.probe`; what root has to do goes beside the rest, over a second channel."""
        started_s = time.time()
        own, roots = parted(request)
        mine, (theirs, problem) = await together(
            self._sections(request.files, own, root=False), self._root_sections(request.root_files, roots)
        )
        return replied([mine] if theirs is None else [mine, theirs], started_s, problem)

    async def _root_sections(
        self, patterns: Sequence[str], commands: Sequence[Command]
    ) -> tuple[Sections | None, str]:
        """Return what root found, or why there is no root; nothing at all where nothing was asked for."""
        if not patterns and not commands:
            return None, ""
        if self._address.sudo == "none":
            return None, "this device has no sudo (lab.toml says so)"
        try:
            return await self._sections(patterns, commands, root=True), ""
        except LinkFailure as failure:
            if failure.problem != "sudo":
                raise
            return None, failure.detail

    async def _sections(
        self, patterns: Sequence[str], commands: Sequence[Command], *, root: bool
    ) -> Sections:
        nonce = secrets.token_hex(8)
        text = script(patterns, commands, nonce=nonce, root=self._address.root)
        limit_s = _PROBE_SLACK_S + sum(command.time_limit_s + 1 for command in commands)
        result = await self._execute(("sh", "-c", text), limit_s, root=root, stdin=b"", what="a look")
        try:
            return parse(result.stdout, patterns, nonce=nonce, root=self._address.root)
        except ProbeCut as cut:
            said = result.stderr.decode(errors="replace").strip()
            message = f"{self.device}: the reply to a look was cut after {cut.received} bytes."
            raise LinkFailure(
                "other", message, detail=said, advice="Look again; see the board's log."
            ) from cut

    async def run(
        self, argv: Sequence[str], time_limit_s: float, *, root: bool = False, stdin: bytes = b""
    ) -> CommandResult:
        """See `Transport.run`."""
        argv = argv_under(self._address.root, argv)
        return await self._execute(argv, time_limit_s, root=root, stdin=stdin, what=argv[0])

    async def _execute(
        self, argv: Sequence[str], time_limit_s: float, *, root: bool, stdin: bytes, what: str
    ) -> CommandResult:
        if root and self._address.sudo == "none":
            raise self._no_sudo("this device has no sudo (lab.toml says so)")
        with_password = root and self._address.sudo == "password"
        if with_password:
            await self._try_password()
        line = command_line(argv, time_limit_s, sudo=self._address.sudo if root else None)
        given = input_lines(stdin, self._password if with_password else None)
        try:
            result = await self._link.run(line, given, time_limit_s)
        except TimeoutError as error:
            message = f"{what} did not end within {time_limit_s:g} s on {self.device} and was killed."
            raise EvaluationFailure(FailureClass.INFRASTRUCTURE, message) from error
        except OutputTooLong as error:
            message = f"{what} printed without end on {self.device} and was killed."
            raise EvaluationFailure(FailureClass.INFRASTRUCTURE, message) from error
        if root and result.exit_code != 0 and (refusal := sudo_refusal(result.stderr)):
            raise self._no_sudo(refusal)
        return result

    async def _try_password(self) -> None:
        """Let sudo judge the password once a link. A wrong one is not tried again: boards count the attempts."""
        async with self._password_lock:
            if self._password_verdict is None:
                self._password_verdict = await self._judged_password()
        if self._password_verdict:
            raise self._no_sudo(self._password_verdict)

    async def _judged_password(self) -> str:
        """Return why sudo does not take the password, empty where it does."""
        if self._password is None:
            return "it wants a password, and none is known"
        if "\n" in self._password:
            return "its password holds a line end"
        try:
            given = self._password.encode() + b"\n"
            result = await self._link.run(TRY_PASSWORD, given, _SUDO_LIMIT_S)
        except TimeoutError as error:
            message = f"sudo did not judge the password within {_SUDO_LIMIT_S:g} s on {self.device}."
            raise LinkFailure("sudo", message, advice="Try sudo on the board itself.") from error
        if result.exit_code == 0:
            return ""
        return sudo_refusal(result.stderr) or f"exit status {result.exit_code}"

    def _no_sudo(self, words: str) -> LinkFailure:
        return LinkFailure(
            "sudo",
            f"{self.device}: sudo was refused: {words}.",
            detail=words,
            advice='Set `sudo` in lab.toml: "passwordless", "password" or "none".',
        )

    async def read_many(self, paths: Sequence[str]) -> Mapping[str, bytes | None]:
        """See `Transport.read_many`."""
        places = [under(self._address.root, path) for path in paths]
        argv = ("sh", "-c", _READ_EXACTLY, "sh", str(_MOST_FILE_BYTES), *places)
        result = await self._execute(argv, _FILES_LIMIT_S, root=False, stdin=b"", what="reading files")
        lines = result.stdout.split(b"\n")[1:]
        if len(lines) != len(paths):
            raise LinkFailure("other", f"{self.device}: the reply to a reading of files was cut.")
        return {
            path: base64.b64decode(line[1:]) if line.startswith(b"+") else None
            for path, line in zip(paths, lines, strict=True)
        }

    async def write(self, path: str, data: bytes, *, root: bool = False) -> None:
        """See `Transport.write`; a file of EdgeLab's own (relative) is replaced as a whole."""
        if path.startswith("/"):
            argv: tuple[str, ...] = ("sh", "-c", 'tee "$1" >/dev/null', "sh", under(self._address.root, path))
        else:
            argv = ("sh", "-c", _REPLACE, "sh", path)
        result = await self._execute(argv, _FILES_LIMIT_S, root=root, stdin=data, what=f"writing {path}")
        if result.exit_code != 0:
            said = result.stderr.decode(errors="replace").strip() or f"exit status {result.exit_code}"
            said = said.replace(self._address.root or "\0", "")
            raise EvaluationFailure(
                FailureClass.INFRASTRUCTURE, f"{self.device}: {path} could not be written: {said}."
            )

    async def put(self, content: bytes | Path, *, progress: OnBytes | None = None) -> str:
        """See `Transport.put`."""
        return await self._blobs.put(content, progress)

    @contextlib.asynccontextmanager
    async def lease(
        self, holder: LeaseHolder, *, heartbeat_s: float = board_lease.HEARTBEAT_S
    ) -> AsyncIterator[None]:
        """See `Transport.lease`; a small process on the board holds the lock while its channel is open."""
        limit_s = heartbeat_s * board_lease.SILENCE_LIMIT_S / board_lease.HEARTBEAT_S
        argv = board_lease.hold_argv(self._address.lease, limit_s)
        async with self._link.process(shlex.join(argv)) as process:
            async with self._explained("take the lease"):
                process.stdin.write(board_lease.signature(holder))
                async with asyncio.timeout(_LEASE_LIMIT_S):
                    word = (await process.stdout.readline()).strip()
                    rest = b"" if word == board_lease.TAKEN else await process.stdout.read()
            self._check_taken(word, rest)
            beating = asyncio.create_task(_beat(process, heartbeat_s))
            try:
                yield
            finally:
                beating.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await beating
                await self._give_back(process)

    def _check_taken(self, word: bytes, rest: bytes) -> None:
        if word == board_lease.TAKEN:
            return
        if word == board_lease.HELD:
            held = board_lease.decode_holder(rest)
            raise LeaseHeld(f"{self.device} is held by someone else.", held, advice="Wait for its end.")
        if word == board_lease.MISSING:
            message = f"{self.device} has no flock(1), so it cannot be leased."
            raise NotReadyError(message, advice="Install util-linux on the board.")
        raise NotReadyError(
            f"{self.device}: the lease {self._address.lease} cannot be taken.",
            advice="Its folder must exist on the board and be writable; `lease` in the profile names another.",
        )

    @staticmethod
    async def _give_back(process: Process) -> None:
        """Close the holder's input and wait until the board is free, as far as the link allows that."""
        with contextlib.suppress(OSError, TimeoutError, asyncssh.Error):
            process.stdin.write_eof()
            async with asyncio.timeout(_GIVE_BACK_LIMIT_S):
                await process.wait_closed()

    @contextlib.asynccontextmanager
    async def _explained(self, what: str) -> AsyncIterator[None]:
        try:
            yield
        except TimeoutError as error:
            raise LinkFailure("timeout", f"{self.device} did not {what} in time.") from error
        except (OSError, asyncssh.Error) as error:
            raise failure_of(error, self._address, None) from error

    async def start_worker(self, archive: Path) -> RemoteWorker:
        """See `Transport.start_worker`. Raises `NotReadyError` when the board has no runtime for it yet."""
        return await start_worker(self._link, self, self._blobs, archive)

    async def close(self) -> None:
        """End the link."""
        await self._link.close()


async def _beat(process: Process, heartbeat_s: float) -> None:
    """Tell the holder's process that the controller lives; a broken link ends that by itself."""
    with contextlib.suppress(OSError):
        while True:
            await asyncio.sleep(heartbeat_s)
            process.stdin.write(b"\n")
