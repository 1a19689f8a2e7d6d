"""Artefact cache: a program is compiled once for a target, found by what went into it afterwards."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import msgspec

from edgelab.bench.storage import file_digest, write_atomically
from edgelab.kernel.build_protocol import BuildReply, BuildRequest, HostTarget
from edgelab.kernel.build_service import BuildService
from edgelab.kernel.program import KernelProgram

_FORMAT = 2


class Artefact(msgspec.Struct, frozen=True):
    """A compiled program: the shared library's path and hash, and what the build said of it."""

    program: str
    reply: BuildReply
    cached: bool

    @property
    def path(self) -> Path:
        """The shared library on this machine."""
        return Path(self.reply.artefact_path)


class ArtefactCache:
    """Builds through a build service and keeps the replies under `folder`.

    The key covers the program text and its edited source, the parameters' content, the target, what is made of
    them, and the versions of TVM and of this cache's format, so nothing stale is ever returned; a library that
    vanished or is damaged is built again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def build(
        self,
        service: BuildService,
        program: KernelProgram,
        request: BuildRequest,
        params_digest: str,
        host: HostTarget,
    ) -> Artefact:
        """Return the artefact of `request`; raises `EvaluationFailure` when the program does not build."""
        key = _key(program, request, params_digest, host)
        entry = self._folder / f"{key}.json"
        known = await asyncio.to_thread(self._find, entry)
        if known is not None:
            return Artefact(program=program.digest, reply=known, cached=True)
        reply = await service.build(request)
        write_atomically(entry, msgspec.json.encode(reply))
        return Artefact(program=program.digest, reply=reply, cached=False)

    def request_folder(self) -> Path:
        """Return the folder that build requests should put their libraries in."""
        folder = self._folder / "libraries"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @staticmethod
    def _find(entry: Path) -> BuildReply | None:
        try:
            reply = msgspec.json.decode(entry.read_bytes(), type=BuildReply)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        # A library that a crash or a full disk cut short would be blamed on its program.
        return reply if _digest_of(Path(reply.artefact_path)) == reply.artefact_sha256 else None


def _digest_of(path: Path) -> str | None:
    try:
        return file_digest(path)
    except OSError:
        return None


def _key(program: KernelProgram, request: BuildRequest, params_digest: str, host: HostTarget) -> str:
    # An imported program and a candidate of the same text are lowered differently: the role counts.
    parts = [
        _FORMAT,
        program.digest,
        request.role,
        request.product,
        params_digest,
        request.target,
        msgspec.to_builtins(host),
    ]
    if request.schedules_path is not None:
        # The file is named by its content.
        parts.append(Path(request.schedules_path).name)
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()
