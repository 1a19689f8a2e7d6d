"""Allow-lists for edited LLVM IR: words, functions and attributes that an edit may use."""

from __future__ import annotations

import re

from edgelab.kernel.source_guard.findings import word_set

_INTEGERS = frozenset(f"i{bits}" for bits in range(1, 513))
"""The optimiser uses odd widths, such as i4 for four lanes of i1."""
TYPES = _INTEGERS | word_set("void half bfloat float double ptr label metadata x vscale")

OPCODES = word_set("""
    ret br switch unreachable fneg add fadd sub fsub mul fmul udiv sdiv fdiv urem srem frem shl lshr ashr and or xor
    extractelement insertelement shufflevector extractvalue insertvalue alloca load store getelementptr trunc zext
    sext fptrunc fpext fptoui fptosi uitofp sitofp bitcast icmp fcmp phi select freeze call
    """)

_FLAGS = """
    nuw nsw exact disjoint nneg samesign inbounds nusw fast nnan ninf nsz arcp contract afn reassoc tail musttail
    notail fastcc ccc volatile align to null none undef poison zeroinitializer splat true false eq ne ugt uge ult ule
    sgt sge slt sle oeq ogt oge olt ole one ord ueq une uno nonnull noundef dereferenceable noalias readonly readnone
    writeonly captures range nofpclass signext zeroext inrange immarg nofree returned
    address address_is_null provenance read_provenance writable
"""
WORDS = TYPES | OPCODES | frozenset(_FLAGS.split())
"""All words that may stand in the body of an edited function."""

KEPT_WORDS = frozenset(("ptrtoint",))
"""Words that only a function which has them already may keep."""

CALL_PREFIX = TYPES | word_set("""
    fast nnan ninf nsz arcp contract afn reassoc fastcc ccc range noundef nonnull noalias align dereferenceable
    signext zeroext nofpclass tail
    """)
"""Words between `call` and the function it calls."""

REFUSED_WORDS = {
    "asm": "inline assembly",
    "inttoptr": "a number as an address (inttoptr)",
    "ptrtoint": "an address as a number (ptrtoint)",
    "addrspacecast": "an address in another address space",
    "blockaddress": "an address of code (blockaddress)",
    "indirectbr": "a jump to a computed address (indirectbr)",
    "callbr": "inline assembly that jumps (callbr)",
    "invoke": "exceptions (invoke)",
    "va_arg": "variable arguments",
    "section": "a section of the object file",
    "thread_local": "a thread-local variable",
    "atomicrmw": "an atomic operation",
    "cmpxchg": "an atomic operation",
    "fence": "an atomic operation",
    "atomic": "an atomic operation",
    "syncscope": "an atomic operation",
    "personality": "exceptions (personality)",
}
"""Words that say what an edit is after, for the message."""

_INTRINSICS = """
    fma fmuladd fabs sqrt exp exp2 exp10 log log2 log10 pow powi sin cos tan tanh floor ceil trunc rint nearbyint round
    roundeven copysign minnum maxnum minimum maximum smin smax umin umax abs bswap ctpop ctlz cttz fshl fshr
    bitreverse sadd.sat uadd.sat ssub.sat usub.sat ldexp is.fpclass canonicalize fptosi.sat fptoui.sat
    vector.reduce.add vector.reduce.mul vector.reduce.and vector.reduce.or vector.reduce.xor vector.reduce.smax
    vector.reduce.smin vector.reduce.umax vector.reduce.umin vector.reduce.fadd vector.reduce.fmul
    vector.reduce.fmax vector.reduce.fmin vector.insert vector.extract vector.interleave2 vector.deinterleave2
    vector.reverse vector.splice stepvector masked.load masked.store masked.gather masked.scatter
    masked.expandload masked.compressstore prefetch memcpy memcpy.inline memmove memset memset.inline assume expect
    lifetime.start lifetime.end experimental.noalias.scope.decl umul.with.overflow smul.with.overflow
    uadd.with.overflow sadd.with.overflow dbg.value dbg.declare
"""
_TYPE_SUFFIX = r"(?:\.(?:(?:nx)?v?\d*)?(?:i\d+|f\d+|bf16|p\d+|x86_\w+))*"
INTRINSIC = re.compile(
    rf"@llvm\.(?:{'|'.join(re.escape(name) for name in _INTRINSICS.split())}){_TYPE_SUFFIX}"
)
"""Intrinsics without an effect beyond the memory they are given; one of another name is refused."""

_LIBM = """
    exp exp2 expm1 log log2 log10 log1p pow sqrt cbrt hypot sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh
    atanh erf erfc floor ceil round trunc rint nearbyint fabs fmin fmax fmod fma copysign ldexp
"""
LIBM = frozenset(f"@{name}{suffix}" for name in _LIBM.split() for suffix in ("", "f"))
"""Functions of the C mathematics library that read nothing but their arguments."""

ATTRIBUTE_WORDS = word_set("""
    nounwind noinline alwaysinline inlinehint norecurse nofree nosync willreturn mustprogress memory none read write
    readwrite argmem inaccessiblemem errnomem target_mem0 target_mem1 speculatable nocallback
    nocreateundeforpoison uwtable hot cold optsize minsize noredzone
    """)

ATTRIBUTE_KEYS = frozenset(
    f'"{key}"'
    for key in word_set("""
    prefer-vector-width min-legal-vector-width unsafe-fp-math no-nans-fp-math no-infs-fp-math
    no-signed-zeros-fp-math approx-func-fp-math no-trapping-math denormal-fp-math denormal-fp-math-f32
    frame-pointer less-precise-fpmad target-cpu target-features tune-cpu
    """)
)
FIXED_ATTRIBUTES = frozenset(('"target-cpu"', '"target-features"', '"tune-cpu"'))
"""Their values must be ones that the generated source has: other instructions may not exist on the device."""

BUNDLES = frozenset(('"align"', '"nonnull"', '"dereferenceable"', '"noundef"'))
"""Operand bundles of `llvm.assume`."""
