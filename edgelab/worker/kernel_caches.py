"""Folders that a device's driver compiles kernels into: one a program, shared by its children alone, gone in the end.

PoCL compiles when a kernel is first launched. With a folder of its own it does so in the first child of a program,
and the children that are timed find what it made.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from .program import KernelCache
from .sandbox import FIRST_OWN_USER

_PREFIX = "edgelab-kernels-"
_FIRST_USER = FIRST_OWN_USER + (1 << 22)
"""Process ids end at 2^22, so no child has such a user as its own."""


class KernelCaches:
    """The folders of one worker. What workers that were killed left behind is removed with the first of them."""

    def __init__(self, place: Path | None = None) -> None:
        self._place = place or Path(tempfile.gettempdir())
        self._folder: Path | None = None
        self._caches: dict[str, KernelCache] = {}

    def of(self, artefact: str) -> KernelCache:
        """Return the folder of a program, made when it is first asked for. Raises OSError if it cannot be."""
        if artefact not in self._caches:
            self._caches[artefact] = self._make(_FIRST_USER + len(self._caches))
        return self._caches[artefact]

    def close(self) -> None:
        """Remove all of them."""
        self._caches.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _make(self, uid: int) -> KernelCache:
        if self._folder is None:
            self._remove_leftovers()
            self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=self._place))
            # Passed through by other users, listed by none.
            self._folder.chmod(0o711)
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            if os.getuid() == 0:
                os.chown(folder, uid, uid)
        except OSError:
            # A container may map few users only; children then share one, and the name is what keeps others out.
            folder.chmod(0o777)
        return KernelCache(str(folder), uid)

    def _remove_leftovers(self) -> None:
        for folder in self._place.glob(f"{_PREFIX}*"):
            found = re.match(rf"{_PREFIX}([0-9]+)-", folder.name)
            if found and not _is_alive(int(found[1])):
                shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
