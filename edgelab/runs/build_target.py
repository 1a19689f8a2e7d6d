"""What programs for a device are built for: the backend's target, as far as this EdgeLab can build it here."""

from __future__ import annotations

import platform
import shutil
import subprocess
from typing import Any

from edgelab.drivers.profile import Profile, load_profile
from edgelab.errors import NotReadyError
from edgelab.kernel.opencl import presence
from edgelab.lab.device import Device

_QUERY_LIMIT_S = 20.0
_LOOK_ONLY = "Checking and locking it works: edgelab devices check."


def build_target(device: Device, backend: str) -> dict[str, Any] | None:
    """Return the TVM target for programs of `backend` on `device`; None is this machine's own CPU.

    Programs for a simulated board run on this machine: its profile's limits hold, with this machine as the host.
    Raises `NotReadyError` when such programs cannot be built here, or could not run there.
    """
    profile = load_profile(device.profile)
    if device.host and not device.simulated:
        return _of_board(device, profile, backend)
    if backend == "llvm":
        return None
    if backend == "opencl":
        return _own_opencl(device, profile)
    if device.simulated:
        raise NotReadyError(
            f"{device.name} is simulated, and this machine cannot stand in for its GPU.",
            advice="Run it with --backend llvm.",
        )
    return {"kind": "cuda", "arch": _own_architecture()}


def _own_opencl(device: Device, profile: Profile) -> dict[str, Any]:
    lacking = presence.missing()
    if lacking is not None:
        raise NotReadyError(
            f"Programs for opencl cannot run on {device.name}: this machine lacks {lacking}.",
            advice="Install it, or run with --backend llvm.",
        )
    known = profile.target if profile.backend == "opencl" else {"kind": "opencl"}
    return {key: value for key, value in known.items() if key != "host"}


def _own_architecture() -> str:
    """Return the architecture of this machine's first GPU, such as sm_90."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        raise NotReadyError(
            "Programs for cuda cannot run here: nvidia-smi was not found.", advice="Run with --backend llvm."
        )
    command = [tool, "--query-gpu=compute_cap", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_QUERY_LIMIT_S, check=False)
    words = done.stdout.split()
    if done.returncode != 0 or not words or not words[0].replace(".", "", 1).isdigit():
        said = (done.stderr or done.stdout).strip()[:200]
        raise NotReadyError(f"nvidia-smi does not tell what GPU this machine has: {said}")
    return "sm_" + words[0].replace(".", "")


def _of_board(device: Device, profile: Profile, backend: str) -> dict[str, Any] | None:
    target = _target_in(profile, backend)
    machine = platform.machine()
    if target is None:
        if backend == "llvm" and profile.family == "linux" and machine in profile.identity:
            return None
        raise NotReadyError(
            f"{device.name} needs programs for {backend} on another processor than this one's ({machine}), "
            f"and its profile {device.profile} has no target for that.",
            advice=f"Give the profile a [target] with mtriple and mcpu. {_LOOK_ONLY}",
        )
    architecture = str(target.get("host", target).get("mtriple", "")).partition("-")[0]
    if architecture and architecture != machine:
        # EdgeLab's OpenCL runtime is C++.
        needed = ("gcc", "g++") if backend == "opencl" else ("gcc",)
        for tool in needed:
            if shutil.which(f"{architecture}-linux-gnu-{tool}") is None:
                raise NotReadyError(
                    f"Programs for {device.name} need {architecture}-linux-gnu-{tool}, which was not found.",
                    advice=f"Install it (Debian: apt install {tool}-{architecture}-linux-gnu). {_LOOK_ONLY}",
                )
    return target


def _target_in(profile: Profile, backend: str) -> dict[str, Any] | None:
    """Return the profile's target for a backend; its host is the CPU's."""
    if profile.backend == backend:
        return profile.target or None
    host = profile.target.get("host")
    return host if backend == "llvm" and host else None
