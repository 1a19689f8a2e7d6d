"""What a run was asked to do, and the ids that name runs."""

from __future__ import annotations

import secrets
import time
from typing import Any

import msgspec

from edgelab.bench.timing_policy import TimingPolicy
from edgelab.lab.device import Device

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One `edgelab run`. `task` is a task name or the absolute path of a task file; `candidate_text`
    is the TVMScript of the candidate, None for the task's own import; `source_text` an edit of its target source
    (level 2). `entry` is the device as the lab
    had it when the run was started, None for this machine. `target` is what programs are built for, None for
    this machine's CPU."""

    task: str
    device: str = "local"
    entry: Device | None = None
    backend: str = "llvm"
    target: dict[str, Any] | None = None
    simulated: bool = False
    candidate_text: str | None = None
    candidate_path: str = ""
    source_text: str | None = None
    source_path: str = ""
    baseline_kind: str = "plain"
    policy: TimingPolicy = TimingPolicy()


def new_run_id(now_s: float | None = None) -> str:
    """Return an id such as `261201-k7f3q`: the date sorts, the rest is random (33 million a day)."""
    day = time.strftime("%y%m%d", time.localtime(now_s))
    return f"{day}-{''.join(secrets.choice(_ALPHABET) for _ in range(5))}"
