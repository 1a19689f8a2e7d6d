"""Files on a board, by SFTP: blobs named by their content, whole or not there at all."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import secrets
import shlex
from pathlib import Path

import asyncssh

from edgelab import quantities
from edgelab.drivers.board_folder import BLOBS, FOLDER
from edgelab.drivers.ssh.link import SshLink, opened
from edgelab.drivers.ssh.link_failures import failure_of
from edgelab.drivers.transport import OnBytes
from edgelab.errors import EvaluationFailure, FailureClass

_COPY_LIMIT_S = 600.0
_ASK_LIMIT_S = 5.0
_BLOCK_BYTES = 1 << 18

_RESUMED_BYTES = 4 << 20
"""From here on a file that a broken link cut is continued, not begun anew."""


class BlobUpload:
    """Puts files on the board of one link, over one SFTP session that is opened when first used."""

    def __init__(self, link: SshLink) -> None:
        self._link = link
        self._sftp: asyncssh.SFTPClient | None = None
        self._known: dict[tuple[str, int, int], str] = {}
        self._there: set[str] = set()
        self._lock = asyncio.Lock()

    async def put(self, content: bytes | Path, progress: OnBytes | None = None) -> str:
        """Store content as a blob; returns its SHA-256. What is there already, and sound, is not sent again."""
        digest = await self._digest(content)
        async with self._lock:
            if digest not in self._there:
                await self.send(content, f"{BLOBS}/{digest}", digest, progress)
                self._there.add(digest)
        return digest

    async def _digest(self, content: bytes | Path) -> str:
        if isinstance(content, bytes):
            return hashlib.sha256(content).hexdigest()
        state = await asyncio.to_thread(content.stat)
        stamp = (str(content), state.st_mtime_ns, state.st_size)
        if stamp not in self._known:
            self._known[stamp] = await asyncio.to_thread(_file_digest, content)
        return self._known[stamp]

    async def send(
        self, content: bytes | Path, remote: str, digest: str, progress: OnBytes | None = None
    ) -> None:
        """Write a file under another name, then rename it: a file that a program has mapped is never changed.

        Raises `EvaluationFailure` (infrastructure) with the board's words when it has no room or no rights.
        """
        size = len(content) if isinstance(content, bytes) else (await asyncio.to_thread(content.stat)).st_size
        address = self._link.address
        try:
            async with asyncio.timeout(_COPY_LIMIT_S):
                sftp = await self._session()
                # A board that lost power may hold a file of the right size with nothing in it.
                if await _size(sftp, remote) == size and await self._digest_there(remote) == digest:
                    return
                await self._write(sftp, content, size, remote, digest, progress)
        except asyncssh.SFTPError as error:
            sftp, self._sftp = self._sftp, None
            if isinstance(error, asyncssh.SFTPConnectionLost | asyncssh.SFTPNoConnection):
                raise failure_of(asyncssh.ConnectionLost(error.reason), address, None) from error
            raise await self._not_stored(sftp, remote, size, error) from error
        except (OSError, asyncssh.Error) as error:
            raise failure_of(error, address, None) from error

    async def _not_stored(
        self, sftp: asyncssh.SFTPClient | None, remote: str, size: int, error: asyncssh.SFTPError
    ) -> EvaluationFailure:
        """Return the failure in the board's words, and how much room there is: OpenSSH says `Failure` alone."""
        said = error.reason or str(error)
        free = None
        if sftp is not None:
            with contextlib.suppress(asyncssh.Error, OSError):
                async with asyncio.timeout(_ASK_LIMIT_S):
                    room = await sftp.statvfs(FOLDER)
                    free = room.bavail * room.frsize
            sftp.exit()
        if free is not None and free < size:
            said = f"No space left on device ({quantities.size(free)} free, {quantities.size(size)} needed)"
        return EvaluationFailure(
            FailureClass.INFRASTRUCTURE,
            f"{self._link.address.device}: {remote} could not be stored: {said}.",
            advice="Free disk space on the board, or check the rights of ~/.edgelab there.",
        )

    async def _session(self) -> asyncssh.SFTPClient:
        if self._sftp is None:
            start = self._link.connection.start_sftp_client()
            self._sftp = await opened(start, asyncssh.SFTPClient.exit)
        return self._sftp

    async def _write(
        self,
        sftp: asyncssh.SFTPClient,
        content: bytes | Path,
        size: int,
        remote: str,
        digest: str,
        progress: OnBytes | None,
    ) -> None:
        folder = remote.rpartition("/")[0]
        await sftp.makedirs(folder, exist_ok=True)
        # Closed to other users, one of whom a candidate runs as: what lies there are expected outputs.
        await sftp.chmod(folder, 0o700)
        resumed = size >= _RESUMED_BYTES
        part = f"{folder}/.part-{digest if resumed else secrets.token_hex(6)}"
        begin = await _size(sftp, part) or 0 if resumed else 0
        begin = begin if begin < size else 0
        try:
            async with sftp.open(part, "r+b" if begin else "wb") as file:
                await self._send_blocks(file, content, begin, size, progress)
                with contextlib.suppress(asyncssh.SFTPOpUnsupported):
                    # An extension of OpenSSH; without it the rename alone has to do.
                    await file.fsync()
            await sftp.chmod(part, 0o600)
            await self._check_resumed(part, begin, digest)
            await sftp.posix_rename(part, remote)
        except BaseException as error:
            if not (
                resumed and isinstance(error, OSError | asyncssh.ConnectionLost | asyncssh.SFTPConnectionLost)
            ):
                with contextlib.suppress(asyncssh.Error, OSError):
                    await asyncio.shield(sftp.remove(part))
            raise

    @staticmethod
    async def _send_blocks(
        file: asyncssh.SFTPClientFile, content: bytes | Path, begin: int, size: int, progress: OnBytes | None
    ) -> None:
        at = begin
        while at < size:
            block = await asyncio.to_thread(_block, content, at)
            await file.write(block, at)
            at += len(block)
            if progress is not None:
                progress(at, size)

    async def _digest_there(self, path: str) -> str:
        """Return the SHA-256 of a file on the board, empty where it cannot be read."""
        result = await self._link.run(f"sha256sum {shlex.quote(path)}", b"", _COPY_LIMIT_S)
        return (result.stdout.split() or [b""])[0].decode(errors="replace")

    async def _check_resumed(self, part: str, begin: int, digest: str) -> None:
        """A part that somebody else wrote, or damaged, is found out here."""
        if not begin:
            return
        if await self._digest_there(part) != digest:
            raise EvaluationFailure(
                FailureClass.INFRASTRUCTURE,
                f"{self._link.address.device}: what was left of an upload was damaged, and is thrown away.",
                advice="Do it again.",
            )


def _block(content: bytes | Path, at: int) -> bytes:
    if isinstance(content, bytes):
        return content[at : at + _BLOCK_BYTES]
    with content.open("rb") as file:
        file.seek(at)
        return file.read(_BLOCK_BYTES)


async def _size(sftp: asyncssh.SFTPClient, remote: str) -> int | None:
    try:
        return (await sftp.stat(remote)).size
    except asyncssh.SFTPNoSuchFile:
        return None


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
