"""Batches of plain kernels in the worker: each a child of its own, one after the other."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from tests.worker.support import WorkerUnderTest, descendants

pytestmark = pytest.mark.integration

HEADER = """
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
int __tvm_ffi_main(void *self, void *args, int32_t count, void *result) {
"""
SOURCES = {
    "fast": "return 0;",
    "slow": "usleep(30000); return 0;",
    "crash": "*(volatile int *)8 = 1; return 0;",
    "exit": "_exit(0);",
    "hang": "for (;;) pause();",
}
TENSORS = [[[4, 4], "float32"], [[16], "int32"]]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("kernels")
    found = {}
    for name, body in SOURCES.items():
        source, library = folder / f"{name}.c", folder / f"{name}.so"
        source.write_text(HEADER + body + "\n}\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-w", "-o", str(library), str(source)], check=True)
        found[name] = library.read_bytes()
    return found


def measure(
    worker: WorkerUnderTest, libraries: dict[str, bytes], *names: str, **changes: Any
) -> dict[str, Any]:
    content, places = b"", []
    for name in names:
        places.append([len(content), len(libraries[name])])
        content += libraries[name]
    fields = {
        "artefacts": worker.put(content),
        "places": places,
        "function": "main",
        "tensors": TENSORS,
        "seed": 1,
        "block_s": 0.001,
        "blocks": 3,
        "single_s": 0.02,
        "time_s": 5,
        "memory_bytes": 1 << 30,
        "threads": 1,
    }
    return worker.op("measure_kernels", **{**fields, **changes})


def test_each_kernel_gets_its_blocks(shared_worker, libraries):
    done = measure(shared_worker, libraries, "fast", "fast")
    assert done["event"] == "done"
    for kernel in done["kernels"]:
        assert len(kernel["latencies_s"]) == 3
        assert kernel["calls"] > 10
        assert all(0 < latency_s < 0.001 for latency_s in kernel["latencies_s"])


def test_a_slow_kernel_is_called_once(shared_worker, libraries):
    (kernel,) = measure(shared_worker, libraries, "slow")["kernels"]
    assert kernel["calls"] == 1
    assert len(kernel["latencies_s"]) == 1
    assert kernel["latencies_s"][0] >= 0.03


def test_what_one_kernel_does_is_its_result_alone(shared_worker, libraries):
    done = measure(shared_worker, libraries, "fast", "crash", "exit", "hang", "fast", time_s=1)
    classes = [kernel.get("class", "") for kernel in done["kernels"]]
    assert classes == ["", "memory", "crash", "timeout", ""]
    assert "segmentation fault" in done["kernels"][1]["message"]


def test_a_library_that_is_none_is_a_failure_of_its_own(shared_worker, libraries):
    done = measure(shared_worker, {**libraries, "text": b"not a library"}, "text", "fast")
    assert done["kernels"][0]["class"]
    assert done["kernels"][1]["calls"] > 1


def test_a_function_that_is_not_there_is_told(shared_worker, libraries):
    (kernel,) = measure(shared_worker, libraries, "fast", function="other")["kernels"]
    assert kernel["class"] == "syntax_api"


def test_no_child_stays(worker, libraries):
    worker.op("hello")
    before = descendants(worker.process.pid)
    measure(worker, libraries, "fast", "hang", "crash", time_s=0.5)
    assert descendants(worker.process.pid) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"places": []},
        {"places": [[0, 1 << 30]]},
        {"places": [[-1, 4]]},
        {"places": [["0", 4]]},
        {"places": "all"},
        {"tensors": [[[4], 4]]},
        {"tensors": [["4", "float32"]]},
        {"blocks": 0},
        {"block_s": -1},
        {"threads": 0},
        {"function": ""},
    ],
)
def test_a_malformed_request_is_refused_and_the_next_one_served(shared_worker, libraries, changes):
    refused = measure(shared_worker, libraries, "fast", **changes)
    assert (refused["event"], refused["class"]) == ("error", "infrastructure")
    assert measure(shared_worker, libraries, "fast")["event"] == "done"


def test_a_blob_that_is_not_there_is_an_error_of_the_request(shared_worker, libraries):
    refused = measure(shared_worker, libraries, "fast", artefacts="0" * 64)
    assert (refused["event"], refused["class"]) == ("error", "infrastructure")


def test_a_bundle_stays_until_it_is_said_to_be_done_with(shared_worker, libraries):
    measure(shared_worker, libraries, "fast", "slow")
    before = set(shared_worker.blobs.iterdir())
    measure(shared_worker, libraries, "fast", "slow", forget=True)
    assert len(before - set(shared_worker.blobs.iterdir())) == 1
