"""Where EdgeLab keeps its data: `--home`, else `EDGELAB_HOME`, else the platform's data folder."""

from __future__ import annotations

import os
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

    def ensure(self) -> Home:
        """Create the folders. Raises OSError when the place cannot be written."""
        for folder in (self.root, self.blobs, self.runs, self.cache, self.logs):
            folder.mkdir(parents=True, exist_ok=True)
        return self
