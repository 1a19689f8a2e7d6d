"""The Python that a board has, and whether a worker runtime can be built on it."""

from __future__ import annotations

import msgspec

from edgelab.drivers.transport import Transport
from edgelab.errors import NotReadyError

OLDEST = (3, 10)
"""TVM's wheels want Python 3.10."""

_LIMIT_S = 30.0
_CANDIDATES = ("python3", "python3.13", "python3.12", "python3.11", "python3.10")
_DESCRIBE = """
import json, platform, shutil, sys, sysconfig
try:
    import ensurepip, venv
except ImportError:
    try: import venv
    except ImportError: venv = None
print(json.dumps({"executable": sys.argv[1], "version": list(sys.version_info[:2]),
    "machine": platform.machine(), "libc": "glibc" if platform.libc_ver()[0] == "glibc" else sys.platform,
    "libc_version": platform.libc_ver()[1], "venv": venv is not None,
    "gil": not sysconfig.get_config_var("Py_GIL_DISABLED"), "free_bytes": shutil.disk_usage(".").free}))
"""
_LOOK = 'for p in "$@"; do command -v "$p" >/dev/null 2>&1 && "$p" -c "$CODE" "$p" 2>/dev/null; done; exit 0'


class BoardPython(msgspec.Struct, frozen=True, kw_only=True):
    """One interpreter on the board: by which name, which version, machine and C library, and the disk's room."""

    executable: str
    version: tuple[int, int]
    machine: str
    libc: str
    libc_version: str = ""
    venv: bool = True
    gil: bool = True
    free_bytes: int

    @property
    def tag(self) -> str:
        """Version as wheels name it: `311`."""
        return f"{self.version[0]}{self.version[1]}"


async def find_python(board: Transport) -> BoardPython:
    """Return the first interpreter that will do. Raises `NotReadyError` that says what the board lacks."""
    argv = ("env", f"CODE={_DESCRIBE}", "sh", "-c", _LOOK, "sh", *_CANDIDATES)
    result = await board.run(argv, _LIMIT_S)
    found = []
    for line in result.stdout.splitlines():
        try:
            found.append(msgspec.json.decode(line, type=BoardPython))
        except msgspec.DecodeError:
            continue
    good = [python for python in found if not shortcoming(python)]
    if good:
        return good[0]
    device = board.device
    if not found:
        raise NotReadyError(f"{device} has no python3.", advice="Install Python 3.10 or newer on the board.")
    raise NotReadyError(
        f"{device}: {shortcoming(found[0])}.", advice="See docs/operating.md, `Put the worker on a board`."
    )


def shortcoming(python: BoardPython) -> str:
    """Return why an interpreter will not do, empty when it will."""
    if python.version < OLDEST:
        return f"its Python is {python.version[0]}.{python.version[1]}, the worker needs 3.10 or newer"
    if python.libc != "glibc":
        return f"its C library is not glibc ({python.libc}), which numpy and TVM are built for"
    if python.machine not in ("x86_64", "aarch64"):
        return f"there is no TVM for {python.machine}"
    if not python.gil:
        return "its Python is built without the interpreter lock, which TVM's wheels are not"
    if not python.venv:
        return "its Python has no module venv (Debian: python3-venv)"
    return ""
