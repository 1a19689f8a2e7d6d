"""Transport to this machine: plain files and child processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path

from edgelab.child_group import end_group, keep_tail
from edgelab.drivers.board_lease import decode_holder, signature
from edgelab.drivers.device_state import LeaseHolder
from edgelab.drivers.local_files import prepare_blob_folder, read_some, store_blob, take_lease, write_file
from edgelab.drivers.probe import Command, ProbeReply, ProbeRequest
from edgelab.drivers.probe_script import ProbeCut, Sections, parse, parted, replied, script
from edgelab.drivers.ssh.remote_command import command_line, input_lines
from edgelab.drivers.sudo import sudo_refusal
from edgelab.drivers.transport import CommandResult, LeaseHeld, LinkFailure, OnBytes
from edgelab.drivers.worker_client import MAX_REPLY_BYTES
from edgelab.errors import EvaluationFailure, FailureClass

_FILES_LIMIT_S = 10.0
_COPY_LIMIT_S = 300.0
_END_LIMIT_S = 5.0
_LINE_LIMIT_BYTES = 1 << 16


class LocalTransport:
    """This machine as a device. `folder` holds what a board would have in its login folder, `lease` its lock."""

    def __init__(self, folder: Path, device: str = "local", *, lease: Path | None = None) -> None:
        self._folder = folder
        self._device = device
        self._lease = lease or folder / "lease"

    @property
    def device(self) -> str:
        """Name of the device."""
        return self._device

    @property
    def blobs(self) -> Path:
        """The folder of blobs; closed to other users, since it holds expected outputs."""
        return self._folder / "blobs"

    async def probe(self, request: ProbeRequest) -> ProbeReply:
        """See `Transport.probe`. Root's part runs where this process is root, else through `sudo -n`."""
        started_s = time.time()
        own, roots = parted(request)
        parts, problem = [await self._sections(request.files, own, root=False)], ""
        if request.root_files or roots:
            try:
                parts.append(await self._sections(request.root_files, roots, root=True))
            except LinkFailure as failure:
                problem = failure.detail
        return replied(parts, started_s, problem)

    async def _sections(
        self, patterns: Sequence[str], commands: Sequence[Command], *, root: bool
    ) -> Sections:
        nonce = secrets.token_hex(8)
        text = script(patterns, commands, nonce=nonce)
        limit_s = _FILES_LIMIT_S + sum(command.time_limit_s + 1 for command in commands)
        result = await self.run(("sh", "-c", text), limit_s, root=root)
        try:
            return parse(result.stdout, patterns, nonce=nonce)
        except ProbeCut as cut:
            detail = result.stderr.decode(errors="replace")
            message = f"The reply to a look at {self._device} was cut after {cut.received} bytes."
            raise LinkFailure("other", message, detail=detail) from cut

    async def run(
        self, argv: Sequence[str], time_limit_s: float, *, root: bool = False, stdin: bytes = b""
    ) -> CommandResult:
        """See `Transport.run`."""
        program = argv[0]
        watched = root and os.geteuid() != 0
        if watched:
            # Nobody but root may kill what runs through sudo: a shell there does when its input closes.
            argv = ("sh", "-c", command_line(argv, time_limit_s, sudo="passwordless"))
            stdin = input_lines(stdin, None)
        async with self._process(argv, f"run {program}") as process:
            try:
                async with asyncio.timeout(time_limit_s):
                    if watched:
                        stdout, stderr = await _communicate_open(process, stdin)
                    else:
                        stdout, stderr = await process.communicate(stdin)
            except TimeoutError as error:
                message = f"{program} did not end within {time_limit_s:g} s on {self._device} and was killed."
                raise EvaluationFailure(FailureClass.INFRASTRUCTURE, message) from error
            finally:
                if watched:
                    await asyncio.shield(_close_input(process))
            result = CommandResult(process.returncode or 0, stdout, stderr)
            if root and result.exit_code != 0 and (refusal := sudo_refusal(stderr)):
                message = f"sudo was refused on {self._device}: {refusal}."
                raise LinkFailure("sudo", message, detail=refusal)
            return result

    async def read_many(self, paths: Sequence[str]) -> Mapping[str, bytes | None]:
        """See `Transport.read_many`."""
        with self._explained("read", ", ".join(paths)):
            async with asyncio.timeout(_FILES_LIMIT_S):
                places = tuple(str(self._folder / path) for path in paths)
                found = await asyncio.to_thread(read_some, places)
                return dict(zip(paths, found.values(), strict=True))

    async def write(self, path: str, data: bytes, *, root: bool = False) -> None:
        """See `Transport.write`."""
        if root and os.geteuid() != 0:
            await self._write_as_root(path, data)
            return
        with self._explained("write", path):
            async with asyncio.timeout(_FILES_LIMIT_S):
                await asyncio.to_thread(write_file, self._place(path), data)

    async def _write_as_root(self, path: str, data: bytes) -> None:
        result = await self.run(("tee", path), _FILES_LIMIT_S, root=True, stdin=data)
        if result.exit_code != 0:
            said = result.stderr.decode(errors="replace").strip()
            message = f"Could not write {path} on {self._device}: {said}."
            raise EvaluationFailure(FailureClass.INFRASTRUCTURE, message)

    def _place(self, path: str) -> Path:
        """Return where a path lies: a relative one in the folder that stands for the login folder."""
        place = self._folder / path
        if not path.startswith("/"):
            place.parent.mkdir(parents=True, exist_ok=True)
        return place

    @contextlib.asynccontextmanager
    async def lease(self, holder: LeaseHolder) -> AsyncIterator[None]:
        """See `Transport.lease`: a flock of this process on the lock file."""
        with self._explained("take the lease", str(self._lease)):
            descriptor = await asyncio.to_thread(take_lease, self._lease, signature(holder))
        if isinstance(descriptor, bytes):
            message = f"{self._device} is held by someone else."
            raise LeaseHeld(message, decode_holder(descriptor), advice="Wait for its end.")
        try:
            yield
        finally:
            os.close(descriptor)

    async def put(self, content: bytes | Path, *, progress: OnBytes | None = None) -> str:
        """See `Transport.put`."""
        with self._explained("store a blob in", str(self.blobs)):
            async with asyncio.timeout(_COPY_LIMIT_S):
                return await asyncio.to_thread(store_blob, self.blobs, content)

    async def start_worker(self, archive: Path) -> LocalWorker:
        """See `Transport.start_worker`; the interpreter is the one that runs EdgeLab."""
        with self._explained("start the worker with its blobs in", str(self.blobs)):
            await asyncio.to_thread(prepare_blob_folder, self.blobs)
            argv = (sys.executable, str(archive), "--blobs", str(self.blobs))
            process = await _start(argv, asyncio.subprocess.PIPE, MAX_REPLY_BYTES)
        return LocalWorker(process)

    async def close(self) -> None:
        """Nothing is held open to this machine."""

    @contextlib.asynccontextmanager
    async def _process(self, argv: Sequence[str], what: str) -> AsyncIterator[asyncio.subprocess.Process]:
        with self._explained(what, "in a process of its own"):
            # The folder stands for a board's login folder, where every command begins.
            await asyncio.to_thread(self._folder.mkdir, parents=True, exist_ok=True)
            process = await _start(argv, asyncio.subprocess.PIPE, _LINE_LIMIT_BYTES, cwd=self._folder)
        try:
            yield process
        finally:
            await end_group(process)

    @contextlib.contextmanager
    def _explained(self, what: str, path: str) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            message = f"Could not {what} {path} on {self._device}: no answer from the file system."
            raise EvaluationFailure(FailureClass.INFRASTRUCTURE, message) from error
        except OSError as error:
            raise EvaluationFailure(
                FailureClass.INFRASTRUCTURE,
                f"Could not {what} {path} on {self._device}: {error.strerror or error}.",
                advice="Free disk space or permissions there, then run again.",
            ) from error


class LocalWorker:
    """A worker process and its streams."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self.reader = process.stdout
        self.writer = process.stdin
        self._stderr_tail = bytearray()
        self._drain = asyncio.create_task(keep_tail(process.stderr, self._stderr_tail))

    @property
    def pid(self) -> int:
        """Process id of the worker, which leads a process group."""
        return self._process.pid

    async def describe_end(self) -> tuple[str, str]:
        """See `WorkerConnection.describe_end`."""
        try:
            async with asyncio.timeout(_END_LIMIT_S):
                code = await self._process.wait()
                await asyncio.shield(self._drain)
        except TimeoutError:
            return "still running", self._tail()
        if code < 0:
            return f"signal {signal.Signals(-code).name}", self._tail()
        return f"exit {code}", self._tail()

    async def close(self) -> None:
        """See `WorkerConnection.close`; the worker may first put its own things away."""
        try:
            await _close_input(self._process)
        finally:
            await end_group(self._process)
        self._drain.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._drain

    def _tail(self) -> str:
        return self._stderr_tail.decode(errors="replace")


async def _start(
    argv: Sequence[str], stdin: int, limit_bytes: int, *, cwd: Path | None = None
) -> asyncio.subprocess.Process:
    """Start a process that leads a group. Raises OSError; a cancellation meanwhile leaves no process."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=limit_bytes,
            cwd=cwd,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Cancelled in the middle, asyncio would end the process but not what that has started already.
        with contextlib.suppress(OSError):
            await end_group(await starting)
        raise


async def _communicate_open(process: asyncio.subprocess.Process, given: bytes) -> tuple[bytes, bytes]:
    """Do as `communicate` does, but leave the input open: its end is what ends the process."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(given)
    outputs = await asyncio.gather(process.stdout.read(), process.stderr.read())
    await process.wait()
    return outputs[0], outputs[1]


async def _close_input(process: asyncio.subprocess.Process) -> None:
    """Close the input of a process that ends with it, and give it time for that."""
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_END_LIMIT_S):
            await process.wait()
