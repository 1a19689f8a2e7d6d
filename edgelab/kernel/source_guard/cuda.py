"""Guard for edited CUDA C++, as TVM writes it."""

from __future__ import annotations

import re

from edgelab.kernel.source_guard import c_like, c_words
from edgelab.kernel.source_guard.c_body import Language
from edgelab.kernel.source_guard.findings import word_set

_SINGLE = frozenset(f"{name}f" for name in c_words.MATHS - {"abs", "min", "max"})
_FAST = """
    __expf __exp10f __logf __log2f __log10f __sinf __cosf __tanf __powf __fdividef __saturatef __frcp_rn __frsqrt_rn
    __fsqrt_rn __fmaf_rn __fadd_rn __fmul_rn __fsub_rn __fdiv_rn rsqrtf rcbrtf sincosf exp10f normcdff
"""
_BITS = """
    __popc __clz __ffs __brev __mul24 __umul24 __mulhi __umulhi __byte_perm __dp4a __dp2a_lo __dp2a_hi __sad __hadd_sat
    __float_as_int __int_as_float __float_as_uint __uint_as_float __float2int_rn __float2int_rz __float2int_ru
    __float2int_rd __float2uint_rn __int2float_rn __uint2float_rn __ll2float_rn
"""
_HALF = """
    __half2float __float2half __float2half_rn __half22float2 __float22half2_rn __floats2half2_rn __half2half2
    __halves2half2 __low2half __high2half __low2float __high2float __hadd __hsub __hmul __hdiv __hfma __hadd2 __hsub2
    __hmul2 __hfma2 __hmax __hmin __hmax2 __hmin2 __hneg __habs __hgt __hlt __hge __hle __heq __hne __hisnan hexp hlog
    hsqrt hrsqrt hsin hcos htanh h2exp h2log h2sqrt h2rsqrt __ushort_as_half __half_as_ushort __bfloat162float
    __float2bfloat16 __float2bfloat16_rn
"""
_THREADS = """
    __syncthreads __syncwarp __shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __any_sync __all_sync
    __ballot_sync __activemask __reduce_add_sync __reduce_max_sync __reduce_min_sync __threadfence_block
    __syncthreads_and __syncthreads_or __syncthreads_count
"""
_MEMORY = """
    __ldg __ldcg __ldca __ldcs __ldlu __stwb __stcg __stcs __builtin_assume __builtin_assume_aligned
    __builtin_expect __pipeline_memcpy_async __pipeline_commit __pipeline_wait_prior
"""
_MAKERS = frozenset(
    f"make_{scalar}{lanes}"
    for scalar in (
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "longlong",
        "float",
        "double",
    )
    for lanes in (1, 2, 3, 4)
) | {"make_half2"}

LANGUAGE = Language(
    types=c_words.TYPES
    | word_set("""
        int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t half2 __half __half2 nv_bfloat16
        __nv_bfloat16 nv_bfloat162 __nv_bfloat162 longlong2 longlong4 int1 uint1 float1
        """),
    qualifiers=word_set("const volatile __restrict__ __shared__ constexpr alignas __align__ register"),
    keywords=c_words.KEYWORDS | {"alignas", "__align__"},
    functions=c_words.MATHS
    | _SINGLE
    | _MAKERS
    | frozenset((_FAST + _BITS + _HALF + _THREADS + _MEMORY).split()),
    values=word_set("""
        threadIdx blockIdx blockDim gridDim warpSize INFINITY NAN FLT_MAX FLT_MIN FLT_EPSILON INT_MAX INT_MIN UINT_MAX
        CUDART_INF_F CUDART_NAN_F CUDART_PI_F
        """),
    member=re.compile(r"[xyzw]"),
    pragmas=(r"#pragma unroll( \d{1,4})?", r"#pragma nounroll"),
    refused=c_words.REFUSED
    | {
        "__device__": "memory between calls",
        "__managed__": "memory between calls",
        "__constant__": "memory between calls",
        "__host__": "code for the host",
        "thread_local": "memory between calls",
        "clock": "a clock",
        "clock64": "a clock",
        "__clock64": "a clock",
        "globaltimer": "a clock",
        "__nanosleep": "a clock",
        "__trap": "a stop of the device",
        "__brkpt": "a stop of the device",
        "assert": "a stop of the device",
        "malloc": "memory between calls",
        "free": "memory between calls",
        "new": "memory between calls",
        "delete": "memory between calls",
        "reinterpret_cast": "a number as an address",
        "template": "a new function",
        "using": "a name of a library",
        "namespace": "a name of a library",
        "try": "exceptions",
        "throw": "exceptions",
        "operator": "a new function",
        "auto": "a type that is not written",
        "decltype": "a type that is not written",
        "cudaLaunchDevice": "a launch from a kernel",
    },
)


def check(source: str, original: str) -> None:
    """Raise GuardRefusal unless `source` is an edit of `original` that keeps its interface; see `c_like.check`."""
    c_like.check(source, original, LANGUAGE)
