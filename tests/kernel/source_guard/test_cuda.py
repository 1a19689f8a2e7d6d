from __future__ import annotations

import pytest

from edgelab.errors import FailureClass
from edgelab.kernel.guard import GuardRefusal
from edgelab.kernel.source_guard import cuda

ORIGINAL = r"""#ifdef __CUDACC_RTC__
  #include <cuda/std/cstdint>
  using cuda::std::uint8_t;
#else
  #include <cstdint>
  #include <cuda.h>
#endif
#define __shfl_sync(mask, var, lane, width) \
        __shfl((var), (lane), (width))
struct __align__(8) half4 { half x, y, z, w; };
static inline __device__ __host__ unsigned __pack_half2(const half x, const half y) {
  unsigned v0 = *((unsigned short *)&x);
  return v0;
}
static inline __device__ void load_matrix(float* p) { __asm__ __volatile__("ldmatrix" ::: "memory"); }
extern "C" __global__ void __launch_bounds__(64) scale_kernel(float* __restrict__ A_ptr, float* __restrict__ C_ptr);
extern "C" __global__ void __launch_bounds__(64) scale_kernel(float* __restrict__ A_ptr, float* __restrict__ C_ptr) {
  __shared__ alignas(64) float shared_ptr[576];
  float2 local_ptr[8];
  int cse_v1 = ((((int)blockIdx.x) * 64) + ((int)threadIdx.x));
  shared_ptr[((int)threadIdx.x)] = A_ptr[cse_v1];
  __syncthreads();
  C_ptr[cse_v1] = (shared_ptr[((int)threadIdx.x)] * 0x1p+1f/*2.000000e+00*/);
}
"""

LINE = "  __syncthreads();\n"


def with_line(line: str) -> str:
    """The kernel with one more line in its body."""
    return ORIGINAL.replace(LINE, LINE + f"  {line}\n")


HONEST = {
    "nothing": ORIGINAL,
    "unrolling": with_line("#pragma unroll 8\n  for (int i = 0; i < 8; ++i) { C_ptr[i] += 1.0f; }"),
    "fast maths": with_line("C_ptr[0] = __expf(__fdividef(A_ptr[0], 3.0f)) + rsqrtf(A_ptr[1]);"),
    "vector loads": with_line("float4 v = *(float4*)(A_ptr + 4); C_ptr[0] = v.x + v.w; *(float4*)(C_ptr + 8) = make_float4(v.x, v.y, v.z, v.w);"),
    "the read-only cache": with_line("C_ptr[0] = __ldg(A_ptr + 3);"),
    "a shuffle": with_line("float s = A_ptr[0]; s += __shfl_xor_sync(0xffffffffu, s, 16); __syncwarp(); C_ptr[0] = s;"),
    "a local array": with_line("float tile[4]; float* where = tile; where[threadIdx.y & 3] = float(cse_v1); C_ptr[1] = tile[0];"),
    "shared memory": with_line("__shared__ alignas(16) float more[128]; more[threadIdx.x] = 0.0f; __syncthreads();"),
    "a dot product of bytes": with_line("int dot = __dp4a(1, 2, 3); C_ptr[0] = (float)dot;"),
    "half precision": with_line("half2 h = __floats2half2_rn(A_ptr[0], A_ptr[1]); C_ptr[0] = __low2float(__hfma2(h, h, h));"),
}  # fmt: skip


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST.keys())
def test_an_honest_edit_passes(text: str):
    cuda.check(text, ORIGINAL)


HOSTILE = {
    "inline assembly": (with_line('asm volatile("mov.u64 %0, %globaltimer;" : "=l"(x));'), "inline assembly"),
    "inline assembly of the preamble": (with_line('__asm__ __volatile__("trap;");'), "inline assembly"),
    "a clock": (with_line("long long t = clock64();"), "a clock"),
    "output": (with_line('printf("%f", C_ptr[0]);'), "output"),
    "memory between calls": (with_line("static __device__ int calls;"), "memory between calls"),
    "a global variable": (ORIGINAL + "__device__ float cache[64];\n", "keep data between calls"),
    "a constructor": (ORIGINAL + "struct S { S(); }; static S s;\n", "was added"),
    "host code": (ORIGINAL + '__attribute__((constructor)) void start() { }\n', "start was added"),
    "a template": (ORIGINAL + "template <int N> __device__ int f() { return N; }\n", "was added"),
    "a namespace": (ORIGINAL + "namespace other { int x; }\n", "was added"),
    "a library": (with_line("C_ptr[0] = std::exp(1.0f);"), "the name std|sign ::"),
    "the heap": (with_line("float* p = (float*)malloc(64);"), "memory between calls|number as an address"),
    "new memory": (with_line("float* p = new float[64];"), "memory between calls"),
    "a launch": (with_line("scale_kernel<<<1, 1>>>(A_ptr, C_ptr);"), "scale_kernel is not on the list"),
    "a lambda": (with_line("auto f = [=](float x) { return x; };"), "a type that is not written"),
    "a lambda without a name": (with_line("C_ptr[0] = [](float x) { return x; }(1.0f);"), "indexes nothing"),
    "a number as address": (with_line("C_ptr[0] = *(float*)0x7f0000000000ull;"), "a number as an address"),
    "a number as address in C++": (with_line("C_ptr[0] = *reinterpret_cast<float*>(4096);"), "a number as an address"),
    "a function pointer": (with_line("void (*f)(float*) = load_matrix;"), "without a name|not declared|not on the list"),
    "a helper it did not use": (with_line("load_matrix(A_ptr);"), "load_matrix is not on the list"),
    "a trap": (with_line("__trap();"), "a stop of the device"),
    "an include": (with_line('\n#include "/etc/passwd"'), "directive #include"),
    "a new include line": (ORIGINAL.replace("<cstdint>", "<cstdlib>"), "directive #include <cstdlib>"),
    "a macro": (with_line("\n#define scale_kernel other"), "directive #define"),
    "a macro of the preamble": (ORIGINAL.replace("__shfl((var), (lane), (width))", "asm((var))"), "a backslash|directive #define"),
    "a changed helper": (ORIGINAL.replace('"ldmatrix"', '"trap"'), "load_matrix uses inline assembly and must stay"),
    "a raw string": (with_line('C_ptr[0] = sizeof(R"(asm)");'), "not on the list|text in a kernel"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_edit_is_refused_with_its_reason(text: str, reason: str):
    with pytest.raises(GuardRefusal, match=reason):
        cuda.check(text, ORIGINAL)


INTERFACE = {
    "a renamed kernel": (ORIGINAL.replace("scale_kernel", "other_kernel"), "other_kernel was added"),
    "other launch bounds": (
        ORIGINAL.replace("(64) scale", "(128) scale"),
        "signature of scale_kernel was changed",
    ),
    "another argument": (
        ORIGINAL.replace("C_ptr) {", "C_ptr, int n) {"),
        "signature of scale_kernel was changed",
    ),
    "a removed include": (
        ORIGINAL.replace("  #include <cuda.h>\n", ""),
        "directive #include <cuda.h> was removed",
    ),
    "a changed type": (ORIGINAL.replace("half x, y, z, w;", "half x;"), "was changed; only kernels"),
}


@pytest.mark.parametrize(("text", "reason"), INTERFACE.values(), ids=INTERFACE.keys())
def test_a_changed_interface_is_refused_and_named(text: str, reason: str):
    with pytest.raises(GuardRefusal, match=reason) as caught:
        cuda.check(text, ORIGINAL)
    assert caught.value.failure_class is FailureClass.SYNTAX_API
