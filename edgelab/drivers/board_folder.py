"""Where EdgeLab keeps its own files on a board: below the login folder, the same for every part that looks there."""

from __future__ import annotations

FOLDER = ".edgelab"
BLOBS = f"{FOLDER}/blobs"
WORKERS = f"{FOLDER}/worker"
RUNTIMES = f"{FOLDER}/runtime"
CURRENT_RUNTIME = f"{RUNTIMES}/current"
"""Holds the name of the runtime in use, which is the digest of its bundle."""

SAVED_CLOCKS = f"{FOLDER}/saved.json"
