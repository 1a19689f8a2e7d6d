from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import numpy as np
import psutil
import pytest
import pytest_asyncio
import tvm
from tvm import relax

from edgelab.errors import EvaluationFailure, FailureClass, NotReadyError
from edgelab.kernel import lowering
from edgelab.kernel.adapters import adapter
from edgelab.kernel.build_protocol import PHASES, BuildReply, BuildRequest
from edgelab.kernel.build_service import BuildService
from edgelab.kernel.program import TensorSpec
from tests.support.programs import INPUT, program, request

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

ENDLESS = program(
    body="for i in range(64):\n    C[i] = A[i]\nfor i in T.unroll(64):\n    for j in T.unroll(20000):\n        with T.sblock('C'):\n"
    "            vi, vj = T.axis.remap('SR', [i, j])\n            C[vi] = A[vi] * T.exp(C[vi])"
)
"""The compiler unrolls this into more than a million statements; it takes minutes."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service() -> AsyncIterator[BuildService]:
    async with BuildService.start() as running:
        yield running


async def failure(service: BuildService, wanted: BuildRequest) -> EvaluationFailure:
    with pytest.raises(EvaluationFailure) as caught:
        await service.build(wanted)
    return caught.value


def children_of(pid: int | None) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True) if pid is not None else []


async def child_in_phase(
    service: BuildService, wanted: BuildRequest, phase: str
) -> tuple[asyncio.Task[BuildReply], int]:
    """A build under way that has reached `phase`, and the process id of its child."""
    reached = asyncio.Event()
    task = asyncio.create_task(
        service.build(wanted, on_phase=lambda name: reached.set() if name == phase else None)
    )
    async with asyncio.timeout(30):
        await reached.wait()
    (child,) = children_of(service.server_pid)
    return task, child.pid


def run(artefact: str, *inputs: np.ndarray) -> np.ndarray:
    machine = relax.VirtualMachine(tvm.runtime.load_module(artefact), tvm.cpu())
    return machine["main"](*[tvm.runtime.tensor(value) for value in inputs]).numpy()


def artefact(reply: BuildReply) -> tuple[str, bytes]:
    """File name and content of what a build made."""
    path = Path(reply.artefact_path)
    return path.name, path.read_bytes()


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith("program-")}


def remove(wanted: BuildRequest, *, folder: bool) -> None:
    Path(wanted.program_path).unlink()
    if folder:
        Path(wanted.out_folder).rmdir()


async def test_a_program_becomes_a_library_named_by_its_content(service: BuildService, tmp_path: Path):
    phases: list[str] = []
    reply = await service.build(request(tmp_path, program()), on_phase=phases.append)
    name, content = artefact(reply)
    assert hashlib.sha256(content).hexdigest() == reply.artefact_sha256
    assert name == f"{reply.artefact_sha256}.so"
    assert reply.size_bytes == len(content)
    assert reply.kernels == ("scale", "relu")
    assert reply.planned_memory_bytes == 512
    assert reply.target["mcpu"] == (await service.host()).mcpu
    assert tuple(phases) == PHASES
    assert set(reply.phase_s) == set(PHASES)
    assert all(seconds > 0 for seconds in reply.phase_s.values())
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    np.testing.assert_allclose(run(reply.artefact_path, x), np.maximum(2 * x, 0))


async def test_building_twice_gives_the_same_artefact(service: BuildService, tmp_path: Path):
    first = await service.build(request(tmp_path / "a", program()))
    second = await service.build(request(tmp_path / "b", program()))
    assert first.artefact_sha256 == second.artefact_sha256
    assert first.artefact_path != second.artefact_path


async def test_an_edited_source_is_compiled_in_the_place_of_the_generated_one(
    service: BuildService, tmp_path: Path
):
    backend = adapter("llvm")
    target = backend.target(None)
    module = lowering.keep_written_kernels(tvm.script.from_source(program()))
    source = backend.source(backend.build(backend.lower(module, target), target))
    edited = tmp_path / "edited.ll"
    edited.write_text(source.replace("float 2.000000e+00", "float 3.000000e+00"))
    wanted = msgspec.structs.replace(request(tmp_path, program()), source_path=str(edited))
    reply = await service.build(wanted)
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    np.testing.assert_allclose(run(reply.artefact_path, x), np.maximum(3 * x, 0))
    edited.write_text(source + '\nmodule asm ".globl x"\n')
    caught = await failure(service, wanted)
    assert caught.failure_class is FailureClass.HACK
    assert "module-level assembly" in caught.message
    edited.write_text("\u00e4")
    assert "not ASCII" in (await failure(service, wanted)).message


async def test_a_program_is_built_for_opencl_and_its_source_can_be_edited(
    service: BuildService, tmp_path: Path
):
    wanted = msgspec.structs.replace(request(tmp_path, program()), target={"kind": "opencl"})
    reply = await service.build(wanted)
    assert reply.target["kind"] == "opencl"
    assert reply.kernels == ("scale", "relu")
    assert reply.planned_memory_bytes == 512
    source = artefact(reply)[1].decode(errors="replace")
    source = source[source.index("// Function: scale_kernel") :]
    source = source[: re.search("[^\n -~]", source).start()].rstrip(" ")  # type: ignore[union-attr]
    edited = tmp_path / "edited.cl"
    edited.write_text(source.replace("2.000000e+00f", "native_exp(2.000000e+00f)"))
    changed = await service.build(msgspec.structs.replace(wanted, source_path=str(edited)))
    assert b"native_exp" in artefact(changed)[1]
    edited.write_text(source.replace("2.000000e+00f", "printf(source)"))
    caught = await failure(service, msgspec.structs.replace(wanted, source_path=str(edited)))
    assert caught.failure_class is FailureClass.HACK
    assert "printf" in caught.message


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc (CUDA toolkit)")
async def test_a_program_is_built_for_cuda_without_a_gpu(service: BuildService, tmp_path: Path):
    wanted = msgspec.structs.replace(request(tmp_path, program()), target={"kind": "cuda", "arch": "sm_87"})
    reply = await service.build(wanted)
    assert reply.target["arch"] == "sm_87"
    assert b"machine code in base64" in artefact(reply)[1]
    without = msgspec.structs.replace(wanted, target={"kind": "cuda"})
    caught = await failure(service, without)
    assert caught.failure_class is FailureClass.INFRASTRUCTURE
    assert "architecture" in caught.message


async def test_nothing_but_the_artefact_is_left_behind(service: BuildService, tmp_path: Path):
    reply = await service.build(request(tmp_path, program()))
    assert files(tmp_path) == {f"{reply.artefact_sha256}.so"}


async def test_parameters_are_compiled_in(service: BuildService, tmp_path: Path):
    weights = np.arange(64, dtype=np.float32)
    np.savez(tmp_path / "params.npz", p0=weights)
    text = program(result="R.add(lv, p0)").replace(
        'in0: R.Tensor((64,), "float32")', 'in0: R.Tensor((64,), "float32"), p0: R.Tensor((64,), "float32")'
    )
    reply = await service.build(request(tmp_path, text, params_path=str(tmp_path / "params.npz")))
    x = np.ones(64, np.float32)
    np.testing.assert_allclose(run(reply.artefact_path, x), 2 * x + weights)


async def test_a_given_target_is_compiled_for(service: BuildService, tmp_path: Path):
    other = {"kind": "llvm", "mcpu": "x86-64-v2"}
    reply = await service.build(msgspec.structs.replace(request(tmp_path, program()), target=other))
    assert reply.target["mcpu"] == "x86-64-v2"


BAD_INPUT = {
    "syntax error": (program().replace("C[vi] =", "C[vi ="), {}, FailureClass.SYNTAX_API, "line 8: syntax error"),
    "undefined name": (program("A[vj]"), {}, FailureClass.SYNTAX_API, "line 8: the name vj is not defined"),
    "wrong rank": (program("A[vi, vi]"), {}, FailureClass.SYNTAX_API, "line 8, column"),
    "unknown operator argument": (
        program(result="R.nn.relu(lv, 1)"), {}, FailureClass.SYNTAX_API, "relu() takes 1 positional argument"),
    "shapes that do not fit": (
        program(result='R.add(lv, R.zeros((3,), "float32"))'), {}, FailureClass.SYNTAX_API, "not broadcastable"),
    "wrong shape of main": (
        program(), {"inputs": (TensorSpec("in0", (32,), "float32"),)}, FailureClass.SYNTAX_API, "wrong shape"),
    "wrong dtype of main": (
        program(), {"outputs": (TensorSpec("out0", (64,), "int8"),)}, FailureClass.SYNTAX_API, "wrong dtype"),
    "wrong number of inputs": (
        program(), {"inputs": (INPUT, INPUT)}, FailureClass.SYNTAX_API, "main takes 1 arguments, expected 2"),
    "out of bounds": (
        program(body="for i in range(64):\n    C[i + 5] = A[i]"), {}, FailureClass.MEMORY, "C[i + 5] = A[i]"),
    "writes to its input": (
        program(body="for i in range(64):\n    A[i] = C[i]"), {}, FailureClass.HACK, "writes to its input A"),
    "reads what nobody wrote": (
        program("A[vi] + C[vi]"), {}, FailureClass.HACK, "reads C before anything in it was written"),
    "GPU threads on a CPU": (
        program(body='for i in T.thread_binding(64, thread="threadIdx.x"):\n    C[i] = A[i]'), {},
        FailureClass.PARALLEL, "no thread axes"),
    "not well-formed": (
        program().replace("(in0,)", "(in0, in0)"), {}, FailureClass.SYNTAX_API, "not well-formed"),
    "broken vector width": (
        program("T.Shuffle([A[vi]], [5])"), {}, FailureClass.SYNTAX_API, "during build"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "arguments", "expected", "message"), BAD_INPUT.values(), ids=BAD_INPUT.keys()
)
async def test_bad_input_has_a_class_and_a_message(
    service: BuildService, tmp_path: Path, text: str, arguments: dict, expected: FailureClass, message: str
):
    error = await failure(service, request(tmp_path, text, **arguments))
    assert error.failure_class is expected
    assert message in error.message
    assert "Check failed" not in error.message
    assert "\n" not in error.message


async def test_code_in_a_literal_is_refused_and_does_not_run(service: BuildService, tmp_path: Path):
    marker = tmp_path / "touched"
    text = program(f'T.float32(__import__("os").system("touch {marker}"))')
    error = await failure(service, request(tmp_path, text))
    assert error.failure_class is FailureClass.HACK
    assert files(tmp_path) == set()


async def test_an_endless_compilation_ends_at_its_time_limit(service: BuildService, tmp_path: Path):
    began = time.monotonic()
    error = await failure(service, request(tmp_path, ENDLESS, time_limit_s=1.0))
    assert error.failure_class is FailureClass.TIMEOUT
    assert "longer than 1 s; it was stopped during" in error.message
    assert time.monotonic() - began < 5
    assert children_of(service.server_pid) == []
    assert files(tmp_path) == set()


async def test_a_constant_of_100_gb_meets_the_memory_limit(service: BuildService, tmp_path: Path):
    text = program(result="R.add(lv, R.sum(R.broadcast_to(R.const(1.0), (160000, 160000))))")
    error = await failure(service, request(tmp_path, text))
    assert error.failure_class is FailureClass.MEMORY
    assert "ran out of memory" in error.message


async def test_a_compiler_that_crashes_is_a_crash_and_the_next_build_works(
    service: BuildService, tmp_path: Path
):
    task, child = await child_in_phase(service, request(tmp_path, ENDLESS), "build")
    os.kill(child, signal.SIGSEGV)
    with pytest.raises(EvaluationFailure) as caught:
        await task
    assert caught.value.failure_class is FailureClass.CRASH
    assert "SIGSEGV during build" in caught.value.message
    assert (await service.build(request(tmp_path, program()))).kernels


async def test_cancelling_kills_the_child_before_it_returns(service: BuildService, tmp_path: Path):
    task, child = await child_in_phase(service, request(tmp_path, ENDLESS), "build")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not psutil.pid_exists(child)
    assert files(tmp_path) == set()
    assert (await service.build(request(tmp_path, program()))).kernels


async def test_two_builds_run_at_once_and_a_third_waits(service: BuildService, tmp_path: Path):
    started = [asyncio.Event() for _ in range(3)]
    tasks = [
        asyncio.create_task(
            service.build(
                request(tmp_path / str(index), ENDLESS), on_phase=lambda _phase, event=event: event.set()
            )
        )
        for index, event in enumerate(started)
    ]
    async with asyncio.timeout(30):
        await asyncio.gather(*[event.wait() for event in started[:2]])
    assert len(children_of(service.server_pid)) == 2
    assert not started[2].is_set()
    tasks[0].cancel()
    async with asyncio.timeout(30):
        await started[2].wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert children_of(service.server_pid) == []


async def test_a_killed_server_is_noticed_and_started_again(service: BuildService, tmp_path: Path):
    task, child = await child_in_phase(service, request(tmp_path, ENDLESS), "build")
    server = service.server_pid
    assert server is not None
    os.kill(server, signal.SIGKILL)
    with pytest.raises(EvaluationFailure) as caught:
        await task
    assert caught.value.failure_class is FailureClass.INFRASTRUCTURE
    assert "SIGKILL" in caught.value.message
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(child).wait(10)
    assert (await service.build(request(tmp_path, program()))).kernels
    assert service.server_pid not in (None, server)
    assert len(files(tmp_path)) == 1


async def test_a_stopped_server_is_replaced_after_the_grace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("edgelab.kernel.build_service._SERVER_GRACE_S", 0.5)
    async with BuildService.start() as service:
        server = service.server_pid
        assert server is not None
        os.kill(server, signal.SIGSTOP)
        error = await failure(service, request(tmp_path, program(), time_limit_s=0.5))
        assert error.failure_class is FailureClass.INFRASTRUCTURE
        assert "does not answer" in error.message
        assert not psutil.pid_exists(server)
        assert (await service.build(request(tmp_path, program()))).kernels


async def test_leaving_the_service_ends_every_process(tmp_path: Path):
    async with BuildService.start() as service:
        task, child = await child_in_phase(service, request(tmp_path, ENDLESS), "build")
        server = service.server_pid
        assert server is not None
    with pytest.raises(EvaluationFailure):
        await task
    assert not psutil.pid_exists(server)
    assert not psutil.pid_exists(child)


async def test_a_server_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    broken = tmp_path / "tvm"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise ImportError('libtvm is broken')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(NotReadyError, match="libtvm is broken"):
        async with BuildService.start():
            pytest.fail("the service must not start")


async def test_a_missing_program_file_is_not_the_programs_fault(service: BuildService, tmp_path: Path):
    wanted = request(tmp_path, program())
    remove(wanted, folder=False)
    assert (await failure(service, wanted)).failure_class is FailureClass.INFRASTRUCTURE


async def test_a_missing_folder_is_not_the_programs_fault(service: BuildService, tmp_path: Path):
    wanted = request(tmp_path / "gone", program())
    remove(wanted, folder=True)
    assert (await failure(service, wanted)).failure_class is FailureClass.INFRASTRUCTURE


async def test_the_server_has_one_thread_and_no_torch(service: BuildService):
    process = psutil.Process(service.server_pid)
    assert process.num_threads() == 1
    assert not any("libtorch" in mapped.path for mapped in process.memory_maps())


async def test_a_warm_build_beats_the_start_of_a_process_by_far(service: BuildService, tmp_path: Path):
    """Measured side by side, so that a busy machine slows both: 0.11 s against 1.1 s when idle."""
    warm_s = []
    for index in range(3):
        began = time.perf_counter()
        await service.build(request(tmp_path, program(f"A[vi] * T.float32({index})")))
        warm_s.append(time.perf_counter() - began)
    began = time.perf_counter()
    async with BuildService.start() as fresh:
        await fresh.build(request(tmp_path, program("A[vi] * T.float32(9)")))
    assert min(warm_s) * 4 < time.perf_counter() - began
