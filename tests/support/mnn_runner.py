"""MNN that tells which modules of its tools it loaded; imported by an engine's child process."""

from __future__ import annotations

import sys

from edgelab.bench.engines.mnn_child import MnnRunner
from edgelab.bench.engines.runner_child import Work


class TellingMnnRunner(MnnRunner):
    """MNN as it is."""

    def prepare(self, work: Work) -> None:
        super().prepare(work)
        self.settings["tools"] = " ".join(name for name in sys.modules if name.startswith("MNN.tools"))
