"""Guard for edited OpenCL C (1.2, as TVM writes it)."""

from __future__ import annotations

import re

from edgelab.kernel.source_guard import c_like, c_words
from edgelab.kernel.source_guard.c_body import Language
from edgelab.kernel.source_guard.findings import word_set

_SCALARS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double")
_LANES = ("", "2", "3", "4", "8", "16")
_CONVERSIONS = frozenset(
    f"{kind}_{scalar}{lanes}{mode}"
    for kind in ("convert", "as")
    for scalar in _SCALARS
    for lanes in _LANES
    for mode in ("", "_sat", "_rte", "_rtz", "_rtp", "_rtn")
)
_VECTOR_ACCESS = frozenset(
    f"{name}{lanes}" for name in ("vload", "vstore", "vload_half", "vstore_half") for lanes in _LANES[1:]
) | {"vload_half", "vstore_half"}
_FAST = frozenset(
    f"{kind}_{name}"
    for kind in ("native", "half")
    for name in word_set("cos divide exp exp2 exp10 log log2 log10 powr recip rsqrt sin sqrt tan")
)
_PLACE = """
    get_global_id get_local_id get_group_id get_global_size get_local_size get_num_groups get_work_dim
    get_global_offset barrier mem_fence read_mem_fence write_mem_fence prefetch
"""
_OTHER = """
    mad mad24 mul24 mad_hi mul_hi clamp mix step smoothstep sign select bitselect any all dot cross length distance
    normalize fast_length fast_normalize rotate clz popcount hadd rhadd add_sat sub_sat abs_diff maxmag minmag
    degrees radians powr pown rootn sincos fract modf frexp ilogb logb nan remainder isequal isnotequal isgreater
    isgreaterequal isless islessequal isordered isunordered isnormal
    work_group_reduce_add work_group_reduce_max work_group_reduce_min sub_group_reduce_add sub_group_reduce_max
    sub_group_reduce_min sub_group_broadcast get_sub_group_local_id get_sub_group_size sub_group_barrier
"""

LANGUAGE = Language(
    types=c_words.TYPES,
    qualifiers=word_set("""
        const restrict volatile __global __local __private __constant global local private constant __restrict
        """),
    keywords=c_words.KEYWORDS,
    functions=c_words.MATHS | _CONVERSIONS | _VECTOR_ACCESS | _FAST | frozenset((_PLACE + _OTHER).split()),
    values=word_set("""
        CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE INFINITY NAN FLT_MAX FLT_MIN FLT_EPSILON INT_MAX INT_MIN UINT_MAX
        HALF_MAX HALF_MIN HUGE_VALF MAXFLOAT M_PI_F M_E_F M_SQRT2_F M_1_PI_F M_2_PI_F M_SQRT1_2_F M_LOG2E_F
        """),
    member=re.compile(r"[xyzw]{1,4}|[sS][0-9a-fA-F]{1,16}|lo|hi|even|odd"),
    pragmas=(
        r"#pragma unroll( \d{1,4})?",
        r"#pragma nounroll",
        r"#pragma OPENCL FP_CONTRACT (ON|OFF|DEFAULT)",
        r"#pragma OPENCL EXTENSION cl_khr_(fp16|fp64|subgroups|byte_addressable_store|3d_image_writes) ?: ?enable",
    ),
    refused=c_words.REFUSED
    | {
        "pipe": "a pipe",
        "enqueue_kernel": "a launch from a kernel",
        "get_default_queue": "a launch from a kernel",
        "atomic_add": "an atomic operation",
        "atom_add": "an atomic operation",
        "program": "memory between calls",
    },
)


def check(source: str, original: str) -> None:
    """Raise GuardRefusal unless `source` is an edit of `original` that keeps its interface; see `c_like.check`."""
    c_like.check(source, original, LANGUAGE)
