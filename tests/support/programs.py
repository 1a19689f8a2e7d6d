"""TVMScript texts for tests: one kernel followed by one Relax operator, on a tensor of 64 floats."""

from __future__ import annotations

from pathlib import Path

from edgelab.kernel.build_protocol import BuildRequest
from edgelab.kernel.program import TensorSpec

_TEMPLATE = """@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def scale(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
        {body}

    @R.function
    def main(in0: R.Tensor((64,), "float32")) -> R.Tensor((64,), "float32"):
        R.func_attr({{"num_input": 1}})
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.scale, (in0,), out_ty=R.Tensor((64,), "float32"))
            gv = {result}
            R.output(gv)
        return gv
"""

LOOP = """for i in T.serial(64):
    with T.sblock("C"):
        vi = T.axis.remap("S", [i])
        C[vi] = {value}"""

INPUT = TensorSpec("in0", (64,), "float32")
OUTPUT = TensorSpec("out0", (64,), "float32")


def program(
    value: str = "A[vi] * T.float32(2)", *, body: str | None = None, result: str = "R.nn.relu(lv)"
) -> str:
    """relu(2 * in0) by default. `value` is what each element becomes, `body` the whole kernel instead."""
    text = LOOP.format(value=value) if body is None else body
    return _TEMPLATE.format(body=text.replace("\n", "\n        "), result=result)


def request(
    folder: Path,
    text: str,
    *,
    params_path: str | None = None,
    inputs: tuple[TensorSpec, ...] = (INPUT,),
    outputs: tuple[TensorSpec, ...] = (OUTPUT,),
    time_limit_s: float = 60.0,
    memory_limit_bytes: int = 8 * 2**30,
) -> BuildRequest:
    """A request to build `text`, which is written into `folder`, as the artefact will be."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"program-{abs(hash(text))}.py"
    path.write_text(text)
    return BuildRequest(
        program_path=str(path),
        params_path=params_path,
        out_folder=str(folder),
        expected_inputs=inputs,
        expected_outputs=outputs,
        time_limit_s=time_limit_s,
        memory_limit_bytes=memory_limit_bytes,
    )
