from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edgelab.errors import NotReadyError
from edgelab.kernel.opencl import plugin

pytestmark = pytest.mark.integration


def test_it_is_built_once_and_kept_by_its_content(plugin_cache: Path):
    first = plugin.library(plugin_cache, compiler="a-compiler-that-is-not-there")
    assert first.name.startswith("opencl-")
    assert [path.name for path in plugin_cache.iterdir()] == [first.name], "nothing else is left behind"
    assert first.read_bytes()[:4] == b"\x7fELF"


def test_the_key_follows_source_and_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    key = plugin.key("0.27.0")
    assert key == plugin.key("0.27.0")
    assert key != plugin.key("0.28.0")
    monkeypatch.setattr(plugin, "FLAGS", (*plugin.FLAGS, "-g"))
    assert key != plugin.key("0.27.0")
    monkeypatch.undo()
    for path in plugin.sources():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(plugin, "FOLDER", tmp_path)
    assert key == plugin.key("0.27.0")
    (tmp_path / "module.h").write_text("// edited")
    assert key != plugin.key("0.27.0")


@pytest.mark.skipif(
    shutil.which("aarch64-linux-gnu-g++") is None,
    reason="needs aarch64-linux-gnu-g++ (g++-aarch64-linux-gnu)",
)
def test_it_is_built_for_a_board_of_another_architecture(tmp_path: Path):
    path = plugin.library(tmp_path, machine="aarch64")
    assert int.from_bytes(path.read_bytes()[18:20], "little") == 183, "EM_AARCH64 of elf.h"
    needed = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True).stdout
    assert "[libtvm_runtime.so]" in needed
    assert "[libtvm_ffi.so]" in needed
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    assert plugin.library(tmp_path, machine="aarch64", compiler="not-there") == path
    assert plugin.key("0.27.0", "aarch64") != plugin.key("0.27.0", "riscv64")


def test_a_board_without_a_compiler_for_it_is_told_which(tmp_path: Path):
    with pytest.raises(NotReadyError, match=r"riscv64-linux-gnu-g\+\+ was not found") as refused:
        plugin.library(tmp_path, machine="riscv64")
    assert "g++-riscv64-linux-gnu" in refused.value.advice


def test_without_a_compiler_the_message_says_so(tmp_path: Path):
    with pytest.raises(NotReadyError, match=r"g\+\+-99 was not found\. Install it"):
        plugin.library(tmp_path, compiler="g++-99")


def test_a_compiler_that_fails_keeps_its_words_and_leaves_nothing(tmp_path: Path):
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\necho 'x.h:3: error: no such thing' >&2\nexit 1\n")
    compiler.chmod(0o755)
    with pytest.raises(NotReadyError, match=r"x\.h:3: error: no such thing.*C\+\+17"):
        plugin.library(tmp_path / "cache", compiler=str(compiler))
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_compiler_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\nexec sleep 60\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(plugin, "_COMPILE_TIME_LIMIT_S", 0.2)
    with pytest.raises(NotReadyError, match=r"longer than 0\.2 s"):
        plugin.library(tmp_path / "cache", compiler=str(compiler))


def test_a_damaged_library_is_named(tmp_path: Path):
    script = f"""
import tvm
from pathlib import Path
from edgelab.errors import NotReadyError
from edgelab.kernel.opencl import plugin
cache = Path({str(tmp_path)!r})
damaged = cache / f"opencl-{{plugin.key(tvm.__version__)}}.so"
damaged.write_bytes(b"not a library")
try:
    plugin.load(cache)
except NotReadyError as error:
    print(error)
"""
    assert f"Delete {tmp_path}/opencl-" in output_of(script)


def output_of(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_a_driver_the_message_says_so(plugin_cache: Path, tmp_path: Path):
    script = f"""
from pathlib import Path
import tvm
from edgelab.errors import NotReadyError
from edgelab.kernel.opencl import plugin
plugin.load(Path({str(plugin_cache)!r}))
try:
    plugin.devices()
except NotReadyError as error:
    print(error)
print(tvm.device("opencl", 0).exist)
try:
    tvm.runtime.empty((4,), "float32", tvm.device("opencl", 0))
except RuntimeError as error:
    print(error)
"""
    said = output_of(script, OCL_ICD_VENDORS=str(tmp_path))
    assert "There is no OpenCL device: no OpenCL driver is installed" in said
    assert "pocl-opencl-icd" in said
    assert "\nFalse\nThere is no OpenCL device" in said


def test_several_devices_have_their_own_memory_and_programs(plugin_cache: Path, tmp_path: Path):
    script = f"""
from pathlib import Path
import numpy as np
import tvm
from tvm import relax
from edgelab.kernel.opencl import plugin
from tests.kernel.task_programs import build
from tests.support.programs import program
plugin.load(Path({str(plugin_cache)!r}))
print(len(plugin.devices()))
backend, executable = build(program(), {{}}, "opencl")
backend.export(executable, Path({str(tmp_path)!r}, "kernel.so"))
module = tvm.runtime.load_module({str(tmp_path / "kernel.so")!r})
x = np.linspace(-1, 1, 64, dtype=np.float32)
first, second = tvm.device("opencl", 0), tvm.device("opencl", 1)
for device in (first, second):
    machine = relax.VirtualMachine(module, device)
    there = tvm.runtime.tensor(x, first).copyto(device)
    result = machine["main"](there)
    assert result.device.index == device.index
    np.testing.assert_allclose(result.copyto(first).numpy(), np.maximum(2 * x, 0))
try:
    tvm.runtime.tensor(x, tvm.device("opencl", 7))
except RuntimeError as error:
    print(error)
"""
    said = output_of(script, POCL_DEVICES="pthread basic")
    assert said.startswith("2\n")
    assert "There is no OpenCL device 7; this machine has 2" in said
