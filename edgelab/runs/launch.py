"""Start a run as a detached process that outlives whoever asked for it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import msgspec

from edgelab.bench.tasks import TaskSpec
from edgelab.errors import NotReadyError, UsageError
from edgelab.home import Home
from edgelab.lab.inventory import this_machine
from edgelab.runs.build_target import build_target
from edgelab.runs.folder import RunFolder
from edgelab.runs.spec import RunSpec, new_run_id
from edgelab.store.reader import StoreReader
from edgelab.store.records import RunRecord
from edgelab.store.writer import StoreWriter


def launch(home: Home, spec: RunSpec, task: TaskSpec) -> str:
    """Record a run, make its folder and start its process; returns its id.

    Raises `NotReadyError` when the home cannot be written, or when no program for the device can be built.
    """
    spec = msgspec.structs.replace(spec, target=build_target(spec.entry or this_machine(), spec.backend))
    try:
        home.ensure()
        # Made here, where a place that cannot be written is one message and no run has begun.
        home.secret()
    except OSError as error:
        raise NotReadyError(
            f"The data folder {home.root} cannot be written: {error.strerror}.",
            advice="Choose another folder with --home.",
        ) from error
    run_id = new_run_id()
    folder = RunFolder(home, run_id)
    folder.create(spec)
    record = RunRecord(
        id=run_id,
        task=task.name,
        device=spec.device,
        backend=spec.backend,
        simulated=spec.simulated,
        candidate_path=spec.candidate_path,
        baseline_kind=spec.baseline_kind,
        created_s=time.time(),
    )
    lock = folder.acquire()
    try:
        with StoreWriter(home.database) as writer:
            writer.create_run(record)
        _start(folder, lock)
    finally:
        os.close(lock)
    return run_id


def resume(home: Home, run_id: str) -> int:
    """Start a run again that was interrupted or lost; returns the process id.

    Raises `UsageError` for a run that is alive or has its verdict.
    """
    folder = RunFolder(home, run_id)
    folder.spec()
    lock = folder.acquire()
    try:
        with StoreReader(home.database) as reader:
            record = reader.run(run_id)
        if record is not None and record.kind == "tune":
            raise UsageError(
                f"Run {run_id} is a tuning.",
                advice=f"Go on with: edgelab tune {record.task} --device {record.device} --resume",
            )
        if record is not None and record.state == "done":
            raise UsageError(
                f"Run {run_id} has its verdict.", advice=f"See it with `edgelab runs show {run_id}`."
            )
        return _start(folder, lock)
    finally:
        os.close(lock)


def _start(folder: RunFolder, lock: int) -> int:
    """Start the run's process in a session of its own, holding `lock`; returns its id."""
    with folder.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "edgelab.runs.process", str(folder.home.root), folder.run_id, str(lock)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[lock],
            cwd=folder.home.root,
        )
    folder.note_holder(lock, process.pid)
    # A long-lived starter (the app) must not collect zombies of the runs it started.
    threading.Thread(target=process.wait, daemon=True, name=f"reap-{folder.run_id}").start()
    return process.pid
