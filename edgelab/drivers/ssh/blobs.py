"""Files on a board, by SFTP: blobs named by their content, whole or not there at all."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import secrets
from pathlib import Path

import asyncssh

from edgelab.drivers.ssh.link import SshLink
from edgelab.drivers.ssh.link_failures import failure_of
from edgelab.drivers.transport import OnBytes
from edgelab.errors import EvaluationFailure, FailureClass

BLOBS = ".edgelab/blobs"
_COPY_LIMIT_S = 600.0
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
        """Store content as a blob; returns its SHA-256. What is there with the right size is not sent again."""
        digest = await self._digest(content)
        async with self._lock:
            if digest not in self._there:
                await self.send(content, f"{BLOBS}/{digest}", progress)
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

    async def send(self, content: bytes | Path, remote: str, progress: OnBytes | None = None) -> None:
        """Write a file under another name, then rename it: a file that a program has mapped is never changed.

        Raises `EvaluationFailure` (infrastructure) with the board's words when it has no room or no rights.
        """
        size = len(content) if isinstance(content, bytes) else (await asyncio.to_thread(content.stat)).st_size
        address = self._link.address
        try:
            async with asyncio.timeout(_COPY_LIMIT_S):
                sftp = await self._session()
                if await _size(sftp, remote) == size:
                    return
                await self._write(sftp, content, size, remote, progress)
        except asyncssh.SFTPError as error:
            self._sftp = None
            if isinstance(error, asyncssh.SFTPConnectionLost | asyncssh.SFTPNoConnection):
                raise failure_of(asyncssh.ConnectionLost(error.reason), address, None) from error
            raise EvaluationFailure(
                FailureClass.INFRASTRUCTURE,
                f"{address.device}: {remote} could not be stored: {error.reason or error}.",
                advice="Free disk space on the board, or check the rights of ~/.edgelab there.",
            ) from error
        except (OSError, asyncssh.Error) as error:
            raise failure_of(error, address, None) from error

    async def _session(self) -> asyncssh.SFTPClient:
        if self._sftp is None:
            self._sftp = await self._link.connection.start_sftp_client()
        return self._sftp

    async def _write(
        self,
        sftp: asyncssh.SFTPClient,
        content: bytes | Path,
        size: int,
        remote: str,
        progress: OnBytes | None,
    ) -> None:
        folder, _, name = remote.rpartition("/")
        await sftp.makedirs(folder, exist_ok=True)
        resumed = size >= _RESUMED_BYTES
        part = f"{folder}/.part-{name if resumed else secrets.token_hex(6)}"
        begin = await _size(sftp, part) or 0 if resumed else 0
        begin = begin if begin < size else 0
        try:
            async with sftp.open(part, "r+b" if begin else "wb") as file:
                await self._send_blocks(file, content, begin, size, progress)
                with contextlib.suppress(asyncssh.SFTPOpUnsupported):
                    # An extension of OpenSSH; without it the rename alone has to do.
                    await file.fsync()
            await sftp.chmod(part, 0o600)
            await self._check_resumed(part, begin, name)
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

    async def _check_resumed(self, part: str, begin: int, digest: str) -> None:
        """A part that somebody else wrote, or damaged, is found out here."""
        if not begin:
            return
        result = await self._link.run(f"sha256sum {part}", b"", _COPY_LIMIT_S)
        if result.stdout.split()[:1] != [digest.encode()]:
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
