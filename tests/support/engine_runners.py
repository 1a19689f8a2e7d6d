"""Engines that misbehave in one way each; imported by an engine's child process, as real runners are."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from edgelab.bench.engines.runner_child import Work
from edgelab.bench.engines.torch_child import EagerRunner


class WrongRunner(EagerRunner):
    """Off by one in the last element of its first output."""

    def outputs(self, returned: Any) -> list[np.ndarray]:
        first, *rest = (np.array(array) for array in super().outputs(returned))
        first.reshape(-1)[-1] += 1
        return [first, *rest]


class LateWrongRunner(WrongRunner):
    """Right until blocks have been timed."""

    _timed = False

    def renew(self) -> None:
        # Verification renews nothing; only timing does.
        super().renew()
        self._timed = True

    def outputs(self, returned: Any) -> list[np.ndarray]:
        return super().outputs(returned) if self._timed else EagerRunner.outputs(self, returned)


class NarrowRunner(EagerRunner):
    """Half precision instead of single."""

    def outputs(self, returned: Any) -> list[np.ndarray]:
        return [array.astype("float16") for array in super().outputs(returned)]


class RefusingRunner(EagerRunner):
    """Takes no task."""

    def prepare(self, work: Work) -> None:
        raise NotImplementedError("operator aten::relu is not known\nand more words")


class CrashingRunner(EagerRunner):
    """Dies by a signal while it prepares."""

    def prepare(self, work: Work) -> None:
        sys.stderr.write("about to fall\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGSEGV)


class BreakingRunner(EagerRunner):
    """Prepares well and raises in its calls afterwards."""

    def prepare(self, work: Work) -> None:
        super().prepare(work)
        self._prepared = True

    def take(self, inputs: Any) -> None:
        super().take(inputs)
        if getattr(self, "_prepared", False):
            self.call = lambda: 1 / 0


class EndlessRunner(EagerRunner):
    """Never finishes preparing, with a process of its own; writes both process ids into the cache folder."""

    def prepare(self, work: Work) -> None:
        other = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        place = Path(work.cache) / "pids"
        place.with_suffix(".new").write_text(f"{os.getpid()} {other.pid}")
        place.with_suffix(".new").rename(place)
        signal.pause()


class HungryRunner(EagerRunner):
    """Wants 8 GiB, which it does not even touch: only a limit stands against that."""

    def prepare(self, work: Work) -> None:
        self._kept = torch.empty(1 << 31)


class TalkativeRunner(EagerRunner):
    """Prints to standard output from Python and from C."""

    def prepare(self, work: Work) -> None:
        super().prepare(work)
        sys.stdout.write("hello\n" * 10_000)
        sys.stdout.flush()
        ctypes.CDLL(None).puts(b"from C")


class ReportingRunner(EagerRunner):
    """Tells its environment in its settings."""

    def prepare(self, work: Work) -> None:
        super().prepare(work)
        self.settings |= {name: os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "GOMP_SPINCOUNT")}


class LyingRunner(EagerRunner):
    """Its clock is an hour fast."""

    def prepare(self, work: Work) -> None:
        super().prepare(work)
        import edgelab.bench.engines.engine_child as child

        main = sys.modules["__main__"]
        for module in (child, main):
            module.time = _FastClock  # type: ignore[attr-defined]


class _FastClock:
    @staticmethod
    def perf_counter_ns() -> int:
        import time

        return time.perf_counter_ns() + 3_600_000_000_000

    @staticmethod
    def monotonic() -> float:
        import time

        return time.monotonic()
