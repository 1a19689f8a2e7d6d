"""Where EdgeLab keeps its data: `--home`, else `EDGELAB_HOME`, else the platform's data folder."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from pathlib import Path

import msgspec


class Home(msgspec.Struct, frozen=True):
    """The data folder and the places inside it. Nothing is created before `ensure`."""

    root: Path

    @classmethod
    def locate(cls, chosen: str | Path | None = None) -> Home:
        """Return the home named by `chosen`, the environment, or the platform, in this order."""
        if chosen:
            return cls(Path(chosen).expanduser().absolute())
        if named := os.environ.get("EDGELAB_HOME"):
            return cls(Path(named).expanduser().absolute())
        import platformdirs

        return cls(Path(platformdirs.user_data_dir("edgelab", appauthor=False)))

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.root / "edgelab.db"

    @property
    def blobs(self) -> Path:
        """Blobs named by SHA-256, compressed, written once."""
        return self.root / "blobs"

    @property
    def runs(self) -> Path:
        """One folder a run: spec, lock, journal, log."""
        return self.root / "runs"

    @property
    def cache(self) -> Path:
        """What can be made again: reference bundles, artefacts, the worker archive."""
        return self.root / "cache"

    @property
    def logs(self) -> Path:
        """Tracebacks and logs of the commands and of the app."""
        return self.root / "logs"

    def secret(self) -> bytes:
        """Return this home's secret, made on first use and readable by its owner only.

        What candidates must not know in advance is derived from it. Raises OSError when it cannot be written.
        """
        path = self.root / "secret"
        if not path.exists():
            # Written whole before it gets its name: of several first users one wins, and all read the same.
            descriptor, temporary = tempfile.mkstemp(dir=self.root, prefix=".secret-")
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(secrets.token_bytes(32))
            with contextlib.suppress(FileExistsError):
                os.link(temporary, path)
            Path(temporary).unlink()
        return path.read_bytes()

    def ensure(self) -> Home:
        """Create the folders. Raises OSError when the place cannot be written."""
        # Candidates, references and logs of a lab are nobody else's business on a shared machine.
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.blobs, self.runs, self.cache, self.logs):
            folder.mkdir(parents=True, exist_ok=True)
        return self
