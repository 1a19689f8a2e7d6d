"""Names that OpenCL C and CUDA C++ have in common."""

from __future__ import annotations

from edgelab.kernel.source_guard.findings import word_set

_VECTORS = [
    f"{scalar}{lanes}"
    for scalar in (
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "half",
        "float",
        "double",
    )
    for lanes in (2, 3, 4, 8, 16)
]
TYPES = word_set(
    "void bool char signed unsigned short int long float double half uchar ushort uint ulong size_t"
) | frozenset(_VECTORS)

KEYWORDS = word_set("if else for while do switch case default break continue return sizeof true false")

REFUSED = {
    "asm": "inline assembly",
    "__asm": "inline assembly",
    "__asm__": "inline assembly",
    "static": "memory between calls",
    "extern": "what is outside of the program",
    "goto": "a jump",
    "printf": "output",
    "typedef": "a new type",
    "struct": "a new type",
    "union": "a new type",
    "enum": "a new type",
    "uintptr_t": "an address as a number",
    "intptr_t": "an address as a number",
    "ptrdiff_t": "an address as a number",
    "__attribute__": "an attribute of the compiler",
    "_Pragma": "a directive",
    "__builtin_trap": "a function of the compiler",
}

MATHS = word_set("""
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 expm1 fabs fdim floor
    fma fmax fmin fmod hypot ldexp log log10 log1p log2 pow rint round rsqrt sin sinh sqrt tan tanh tgamma lgamma
    trunc abs min max isnan isinf isfinite signbit
    """)
