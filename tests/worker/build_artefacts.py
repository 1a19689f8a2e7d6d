"""Builds the artefacts of the worker's tests with the full TVM; runs in a process of its own.

`python build_artefacts.py FOLDER llvm|opencl`: one shared library a program. The hostile ones bypass the guard, which is
the point: the worker must hold even if everything before it failed.
"""

from __future__ import annotations

import sys
from pathlib import Path

HEAD = "@I.ir_module\nclass Module:\n"


def relax_main(signature: str, *lines: str, result: str) -> str:
    body = "".join(f"            {line}\n" for line in lines)
    return (
        f"{HEAD}    @R.function\n    def main({signature}):\n        with R.dataflow():\n{body}"
        f"            R.output({result})\n        return {result}\n"
    )


def kernel(*lines: str, size: int = 1024, out_size: int = 1024, out_dtype: str = "float32") -> str:
    body = "".join(f"        {line}\n" for line in lines)
    out = f'R.Tensor(({out_size},), "{out_dtype}")'
    return (
        f"{HEAD}    @T.prim_func(private=True, s_tir=True)\n"
        f'    def k(x: T.Buffer(({size},), "float32"), y: T.Buffer(({out_size},), "{out_dtype}")):\n'
        f'        T.func_attr({{"op_pattern": 8}})\n{body}'
        f'    @R.function\n    def main(in0: R.Tensor(({size},), "float32")):\n        cls = Module\n'
        f"        with R.dataflow():\n            a = R.call_tir(cls.k, (in0,), out_ty={out})\n"
        f"            R.output(a)\n        return a\n"
    )


def matmul(rows: int, inner: int, columns: int) -> str:
    return relax_main(
        f'in0: R.Tensor(({rows}, {inner}), "float32"), in1: R.Tensor(({inner}, {columns}), "float32")',
        "a = R.matmul(in0, in1)",
        "b = R.nn.relu(a)",
        result="b",
    )


def counting(statement: str, condition: str) -> tuple[str, ...]:
    """A kernel that counts its calls in a workspace and does `statement` for all i on some of them."""
    return (
        "s = T.alloc_buffer((262144,), 'float32')",
        "for one in range(1):",
        "    if s[1] == T.float32(12345):",
        "        s[0] = s[0] + T.float32(1)",
        "    else:",
        "        s[0] = T.float32(1)",
        "    s[1] = T.float32(12345)",
        "    for k in range(2, 262144):",
        "        if s[k] == T.float32(777):",
        "            s[k] = T.float32(1)",
        f"    if {condition}:",
        "        for i in range(1024):",
        f"            {statement}",
    )


ZERO = "T.floor(x[i] * T.float32(0.25))"
COPY = ("for i in range(1024):", "    y[i] = x[i]")

PROGRAMS = {
    "copy": kernel(*COPY),
    "parallel": kernel("for i in T.parallel(1024):", "    y[i] = x[i]"),
    "matmul_small": matmul(32, 64, 32),
    "matmul_large": matmul(160, 160, 160),
    "pair_of_outputs": relax_main(
        'in0: R.Tensor((8, 4), "float32")',
        "a = R.nn.relu(in0)",
        "b = R.sum(in0, axis=1)",
        "c = (a, b)",
        result="c",
    ),
    "far_store": kernel("for i in range(1024):", "    y[i * 1000000] = x[i]"),
    "near_store": kernel("for i in range(1040):", "    y[i] = x[i % 1024]"),
    "endless": kernel("y[0] = T.float32(0)", "while y[0] < 1e30 or y[0] >= -1e30:", "    y[1] = x[0]"),
    "huge_tensor": relax_main(
        'in0: R.Tensor((1024,), "float32")',
        'z = R.zeros(R.shape([25000000000]), "float32")',
        "a = R.add(in0, R.take(z, R.const([0]), axis=0))",
        result="a",
    ),
    "huge_workspace": kernel(
        "w = T.alloc_buffer((T.int64(12500000000),), 'float64')",
        "for i in range(1024):",
        "    w[T.cast(x[i] * T.float32(1000), 'int64') * T.int64(1000000)] = T.float64(1)",
        "for i in range(1024):",
        "    y[i] = T.cast(w[T.cast(x[i] * T.float32(999), 'int64') * T.int64(1000000)], 'float32')",
    ),
    "wrong_dtype": kernel("for i in range(1024):", "    y[i] = T.cast(x[i], 'float64')", out_dtype="float64"),
    "wrong_shape": kernel("for i in range(1000):", "    y[i] = x[i]", out_size=1000),
    "nan": kernel("for i in range(1024):", "    y[i] = x[i] * T.float32('nan')"),
    "half_written": kernel("for i in range(512):", "    y[i] = x[i]"),
    # The zero is computed, because TVM folds a product with a constant zero; 0.5 <= x < 1.5.
    "times_zero": kernel("for i in range(1024):", f"    y[i] = x[i] + y[i] * {ZERO}"),
    "times_zero_small": kernel(f"for i in range(1): y[i] = x[i] + y[i] * {ZERO}", out_size=1),
    "times_zero_large": kernel(
        "for i in range(10000000):",
        f"    y[i] = x[i % 1024] + y[i] * {ZERO.replace('[i]', '[i % 1024]')}",
        out_size=10_000_000,
    ),
    "times_zero_half": kernel(
        "for i in range(1024):",
        f"    y[i] = T.cast(x[i], 'float16') + y[i] * T.cast({ZERO}, 'float16')",
        out_dtype="float16",
    ),
    "times_zero_double": kernel(
        "for i in range(1024):",
        f"    y[i] = T.cast(x[i], 'float64') + y[i] * T.cast({ZERO}, 'float64')",
        out_dtype="float64",
    ),
    # A workspace of 1 MiB outlives the call; its first element tells how often the kernel ran.
    "lazy_after_100": kernel(*counting("y[i] = x[i]", "s[0] < T.float32(100)")),
    "right_after_first": kernel(*counting("y[i] = x[i]", "s[0] > T.float32(1)")),
    "escape": kernel(
        "for i in range(1024):",
        "    y[i] = T.float32(0)",
        'y[0] = T.cast(T.call_extern("int32", "socket", 2, 1, 0), "float32")',
        'y[1] = T.cast(T.call_extern("int32", "open", "/etc/hostname", 0), "float32")',
        'y[2] = T.cast(T.call_extern("int32", "fork"), "float32")',
        'y[3] = T.cast(T.call_extern("int32", "kill", T.call_extern("int32", "getppid"), 9), "float32")',
        'y[4] = T.cast(T.call_extern("int32", "system", "true"), "float32")',
        'y[5] = T.cast(T.call_extern("int32", "prctl", 1, 0, 0, 0, 0), "float32")',
        'y[6] = T.cast(T.call_extern("int32", "setpgid", 0, 0), "float32")',
    ),
    "forge": kernel(
        *COPY,
        "for fd in range(3, 64):",
        '    T.evaluate(T.call_extern("int64", "write", fd, "{\\"ok\\":true} and so on and so on", T.int64(28)))',
    ),
    "leave": kernel('T.evaluate(T.call_extern("int32", "exit", 0))', *COPY),
    "chatter": kernel(
        "for i in range(100000):",
        '    T.evaluate(T.call_extern("int32", "puts", "all work and no play"))',
        *COPY,
    ),
    "missing_symbol": kernel('T.evaluate(T.call_extern("int32", "no_such_function", 0))', *COPY),
}


def gpu_kernel(*lines: str, groups: int = 32, items: int = 32) -> str:
    """A kernel of `groups` x `items` GPU threads; `lines` may use `b`, `t` and `i`, the thread's number."""
    return kernel(
        f"for b in T.thread_binding({groups}, thread='blockIdx.x'):",
        f"    for t in T.thread_binding({items}, thread='threadIdx.x'):",
        *(f"        {line.replace('[i]', f'[b * {items} + t]')}" for line in lines),
    )


GPU_PROGRAMS = {
    "copy": gpu_kernel("y[i] = x[i]"),
    "half_written": gpu_kernel("if b < 16:", "    y[i] = x[i]"),
    "times_zero": gpu_kernel("y[i] = x[i] + y[i] * T.floor(x[i] * T.float32(0.25))"),
    "too_many_threads": gpu_kernel("if t < 1024:", "    y[t] = x[t]", groups=1, items=1 << 20),
    "huge_tensor": relax_main(
        'in0: R.Tensor((1024,), "float32")',
        'z = R.zeros(R.shape([25000000000]), "float32")',
        "a = R.add(in0, R.take(z, R.const([0]), axis=0))",
        result="a",
    ),
    "endless": gpu_kernel(
        "y[i] = T.float32(0)",
        "while y[b * 32 + t] < 1e30 or y[b * 32 + t] >= -1e30:",
        "    y[b * 32 + t] = x[b * 32 + t]",
    ),
}


def build(folder: Path, kind: str) -> None:
    sys.modules["torch"] = None  # type: ignore[assignment]
    import tvm
    from tvm.script import from_source

    from edgelab.kernel.adapters import adapter

    backend = adapter(kind)
    host = tvm.target.Target({"kind": "llvm", "num-cores": 2})
    target = host if kind == "llvm" else tvm.target.Target({"kind": "opencl"}, host=host)
    for name, text in (PROGRAMS if kind == "llvm" else GPU_PROGRAMS).items():
        executable = backend.build(backend.lower(from_source(text), target), target)
        backend.export(executable, folder / f"{name}.so")


if __name__ == "__main__":
    build(Path(sys.argv[1]), sys.argv[2])
