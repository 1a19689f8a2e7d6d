from __future__ import annotations

import contextlib
import time

import pytest

from edgelab.errors import FailureClass
from edgelab.kernel.guard import GuardRefusal
from edgelab.kernel.source_guard import opencl
from edgelab.kernel.source_guard.findings import MAX_GROWTH_CHARACTERS

ORIGINAL = """// Function: scale_kernel
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

__kernel void scale_kernel(__global float* restrict A_ptr, __global float* restrict C_ptr, int n);
__kernel void sum_kernel(__global float* restrict A_ptr, __global float* restrict C_ptr);
__kernel void scale_kernel(__global float* restrict A_ptr, __global float* restrict C_ptr, int n) {
  __local float shared_ptr[256];
  int cse_v1 = (((convert_int(get_group_id(0))) * 64) + (convert_int(get_local_id(0))));
  shared_ptr[convert_int(get_local_id(0))] = A_ptr[cse_v1];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (cse_v1 < n) {
    C_ptr[cse_v1] = (shared_ptr[convert_int(get_local_id(0))] * 2.000000e+00f);
  }
}

// Function: sum_kernel
__kernel void scale_kernel(__global float* restrict A_ptr, __global float* restrict C_ptr, int n);
__kernel void sum_kernel(__global float* restrict A_ptr, __global float* restrict C_ptr);
__kernel void sum_kernel(__global float* restrict A_ptr, __global float* restrict C_ptr) {
  float total_ptr[1];
  total_ptr[0] = 0.000000e+00f;
  for (int k = 0; k < 16; ++k) {
    total_ptr[0] = (total_ptr[0] + A_ptr[k]);
  }
  C_ptr[convert_int(get_global_id(0))] = total_ptr[0];
}
"""

LINE = "  total_ptr[0] = 0.000000e+00f;\n"
LOOP = "  for (int k = 0; k < 16; ++k) {\n"


def edit(*changes: tuple[str, str]) -> str:
    text = ORIGINAL
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} must be in the original once"
        text = text.replace(old, new)
    return text


def with_line(line: str) -> str:
    """The second kernel with one more line in its body."""
    return edit((LINE, LINE + f"  {line}\n"))


HONEST = {
    "nothing": ORIGINAL,
    "comments and spaces": with_line("/* printf asm */ // goto static"),
    "unrolling": edit((LOOP, "#pragma unroll 4\n" + LOOP)),
    "full unrolling": edit((LOOP, "  #pragma unroll\n" + LOOP)),
    "a named number": edit((LOOP, "#define STEPS 16\n  for (int k = 0; k < STEPS; ++k) {\n")),
    "fast maths": edit(("(total_ptr[0] + A_ptr[k])", "native_exp(mad(A_ptr[k], 2.0f, total_ptr[0]))")),
    "vector loads": with_line(
        "float4 v = vload4(0, A_ptr + 4); total_ptr[0] += v.x + v.s3 + dot(v.lo, v.hi);"
    ),
    "a pointer cast": with_line("float4 w = *(__global float4*)(A_ptr + 8); total_ptr[0] += w.w;"),
    "a cast of a local array": with_line(
        "__private float2* q = (float2*)total_ptr; int unused = (int)(3.5f);"
    ),
    "vector literals": with_line("float4 z = (float4)(0.0f, 1.0f, 2.0f, 3.0f); total_ptr[0] += z.y;"),
    "several variables": with_line("int a = 1, b = a * 2, *c = &a; total_ptr[0] += (float)(b + c[0]);"),
    "local memory": with_line("__local float4 tile[64]; tile[get_local_id(0)] = (float4)(1.0f);"),
    "other control flow": with_line("int i = 0; while (i < 4) { ++i; if (i == 2) continue; else break; }"),
    "prefetch": with_line("prefetch(A_ptr + 64, 16);"),
    "contraction": edit((LOOP, "#pragma OPENCL FP_CONTRACT ON\n" + LOOP)),
    "conditional": with_line(
        "total_ptr[0] = (total_ptr[0] > 0.0f) ? fmax(total_ptr[0], 1e-3f) : select(0.0f, 1.0f, 1);"
    ),
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST.keys())
def test_an_honest_edit_passes(text: str):
    opencl.check(text, ORIGINAL)


HOSTILE = {
    "inline assembly": (with_line('__asm__ volatile("syscall");'), "inline assembly"),
    "a keyword in two pieces": (with_line('__as\\\nm__("syscall");'), "a backslash continues"),
    "output": (with_line('printf("%f", total_ptr[0]);'), "output"),
    "memory between calls": (with_line("static int calls = 0;"), "memory between calls"),
    "a global variable": (edit(("// Function: sum_kernel\n", "// Function: sum_kernel\n__global float cache[64];\n")), "keep data between calls"),
    "an external variable": (with_line("extern float secret;"), "outside of the program"),
    "an undeclared function": (with_line("system(0);"), "the name system is not on the list"),
    "a declared function": (with_line("int system(int x); total_ptr[0] = system(1);"), "call of system"),
    "an include": (edit((LOOP, '#include "/etc/passwd"\n' + LOOP)), "directive #include"),
    "an include behind a comment": (edit((LOOP, "/**/ #include </etc/passwd>\n" + LOOP)), "sign #"),
    "a macro": (edit((LOOP, "#define barrier(x)\n" + LOOP)), "directive #define"),
    "a macro that renames": (edit((LOOP, "#define FENCE goto\n" + LOOP)), "directive #define"),
    "pasted tokens": (edit((LOOP, "#define P(a, b) a ## b\n" + LOOP)), "directive #define"),
    "a directive of two lines": (edit((LOOP, "#define X 1 \\\n asm\n" + LOOP)), "a backslash continues"),
    "digraphs": (edit((LOOP, "%: include <x>\n" + LOOP)), "is not on the list"),
    "a trigraph": (with_line("??=include <x>"), "trigraph"),
    "another pragma": (edit((LOOP, "#pragma OPENCL EXTENSION cl_khr_il_program : enable\n" + LOOP)), "directive #pragma"),
    "a pragma as operator": (with_line('_Pragma("once")'), "a directive"),
    "a line directive": (edit((LOOP, '#line 1 "x"\n' + LOOP)), "directive #line"),
    "a number as address": (with_line("total_ptr[0] = *(__global float*)(0x7fff0000);"), "a number as an address"),
    "a negative number as address": (with_line("total_ptr[0] = *(float*)-4096;"), "a number as an address"),
    "an integer as address": (with_line("ulong a = 4096; total_ptr[0] = *(__global float*)(a);"), "a number as an address"),
    "an index as address": (with_line("total_ptr[0] = *(__global float*)(get_local_id(0) + A_ptr);"), "a number as an address"),
    "a long cast": (with_line(f"total_ptr[0] = *({'const ' * 20}float*)(4096);"), "more than 16 words"),
    "a cast to many pointers": (with_line(f"total_ptr[0] = (float{'*' * 20})(4096);"), "more than 16 words"),
    "an address as number": (with_line("uintptr_t a = 1;"), "an address as a number"),
    "a call through a pointer": (with_line("(*total_ptr)(1);"), "a call of something without a name"),
    "a call of an element": (with_line("total_ptr[0](1);"), "a call of an element"),
    "a call of a member": (with_line("float2 v; v.x(1);"), "member x"),
    "a member of the runtime": (with_line("A_ptr->data = 0;"), "member data"),
    "a jump": (with_line("goto out;"), "a jump"),
    "a new type": (with_line("typedef float (*function)(float);"), "a new type"),
    "an attribute": (with_line("__attribute__((noinline)) int x;"), "an attribute"),
    "an attribute by brackets": (with_line("[[noreturn]] int x;"), "indexes nothing"),
    "a block": (with_line("total_ptr[0] = ^(float x){ return x; }(1.0f);"), "call of a block"),
    "a launch": (with_line("enqueue_kernel(0, 0, 0);"), "a launch from a kernel"),
    "an atomic": (with_line("atomic_add(C_ptr, 1);"), "an atomic operation"),
    "text": (with_line('__constant char* s = "text";'), "text in a kernel"),
    "a carriage return": (with_line("// \r asm"), r"U\+000D"),
    "letters of another script": (with_line("// ａsm"), r"U\+FF41"),
    "the dollar sign": (with_line("int $x = 0;"), r"sign \$"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_edit_is_refused_with_its_reason(text: str, reason: str):
    with pytest.raises(GuardRefusal, match=reason):
        opencl.check(text, ORIGINAL)


SUM = ORIGINAL[ORIGINAL.rindex("__kernel void sum_kernel") :]
INTERFACE = {
    "a renamed kernel": (ORIGINAL.replace("sum_kernel", "total_kernel"), "total_kernel was added"),
    "a removed kernel": (ORIGINAL.replace(SUM, ""), "sum_kernel was removed or renamed"),
    "a changed argument": (
        edit(("C_ptr, int n) {", "C_ptr, long n) {")),
        "signature of scale_kernel was changed",
    ),
    "fewer arguments": (edit(("C_ptr, int n) {", "C_ptr) {")), "signature of scale_kernel was changed"),
    "an attribute of a kernel": (
        ORIGINAL.replace(SUM, "__attribute__((reqd_work_group_size(1, 1, 1))) " + SUM),
        "signature of sum_kernel was changed",
    ),
    "another function": (ORIGINAL + "float more(float x) { return x; }\n", "more was added"),
    "the same kernel twice": (ORIGINAL + SUM, "signature of sum_kernel was changed"),
    "a removed directive": (edit(("#endif\n", "")), "directive #endif was removed"),
    "an open bracket": (edit((LOOP, LOOP + "{\n")), "ends within an item"),
    "a bracket too many": (edit((LINE, LINE + "}\n")), "a bracket"),
    "nothing": ("", "was removed"),
    "too much": (ORIGINAL + "/" * (MAX_GROWTH_CHARACTERS + 1), "characters; "),
}


@pytest.mark.parametrize(("text", "reason"), INTERFACE.values(), ids=INTERFACE.keys())
def test_a_changed_interface_is_refused_and_named(text: str, reason: str):
    with pytest.raises(GuardRefusal, match=reason) as caught:
        opencl.check(text, ORIGINAL)
    assert caught.value.failure_class is FailureClass.SYNTAX_API


def test_reaching_for_the_machine_is_a_hack_and_the_line_is_named():
    text, _ = HOSTILE["inline assembly"]
    with pytest.raises(GuardRefusal) as caught:
        opencl.check(text, ORIGINAL)
    assert caught.value.failure_class is FailureClass.HACK
    assert caught.value.line == text.split("__asm__")[0].count("\n") + 1
    assert "__asm__" in caught.value.message


ENDLESS = (
    "/",
    "/*",
    '"',
    '\\"',
    "'",
    "\\'",
    "#",
    "(",
    "()",
    ")(",
    "float ",
    "float a,",
    "(float",
    "*",
    "[",
    "a(",
    "\\",
    " ",
    "if (x) (",
    "0x",
    ".",
)


@pytest.mark.parametrize("piece", ENDLESS)
def test_a_long_text_takes_linear_time(piece: str):
    began = time.process_time()
    with contextlib.suppress(GuardRefusal):
        opencl.check(with_line(piece * (100_000 // len(piece))), ORIGINAL)
    assert time.process_time() - began < 3, "100 kB take a quarter of a second where time is linear"
