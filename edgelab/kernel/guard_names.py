"""What program text may name: TVMScript functions, attributes of locals, annotation keys and intrinsics.

Left out on purpose: whatever takes a Python callable or class (`T.macro`, `T.meta_var`, `R.emit_te`), looks a
function up by name at build or run time (`T.call_packed`, `R.call_dps_packed`, `R.call_py_func`), carries target
source past the guard (`T.call_kernel`, `pragma_import_llvm`), hands out raw addresses (`T.address_of`,
`T.tvm_access_ptr`), writes to its own inputs (`R.call_tir_inplace`) or depends on chance or a device handle.
"""

from __future__ import annotations

import builtins
import re

_SCALARS = [
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "bfloat16"),
]
_LANES = (2, 4, 8, 16, 32, 64)

DTYPES = frozenset(f"T.{name}" for name in [*_SCALARS, "bool", "boolean", "void", "handle"])
"""Dtype constructors: `T.int64(3)`, and `n: T.int64` in an annotation."""

_T = """
func_attr Buffer match_buffer alloc_buffer decl_buffer sblock_alloc_buffer alloc_local alloc_shared
buffer_store
sblock sblock_attr reads writes init where grid serial parallel vectorized unroll thread_binding launch_thread
env_thread axis.remap axis.spatial axis.reduce axis.scan axis.opaque axis.S axis.R
attr let Let bind evaluate assume likely undef
max min abs fabs exp exp2 exp10 log log2 log10 log1p sqrt rsqrt pow sigmoid tanh erf sin cos tan sinh cosh asin acos
atan atan2 asinh acosh atanh floor ceil round trunc nearbyint fma fmod copysign hypot ldexp nextafter popcount clz
isnan isinf isfinite ceildiv truncdiv truncmod floordiv floormod shift_left shift_right
bitwise_and bitwise_or bitwise_xor bitwise_not q_multiply_shift q_multiply_shift_per_axis dp4a
cast Cast reinterpret if_then_else Select And Or Not Add Sub Mul Div Mod Min Max FloorDiv FloorMod
EQ NE LT LE GT GE max_value min_value infinity Broadcast broadcast Ramp ramp Shuffle
vectorlow vectorhigh vectorcombine IntImm FloatImm Range
call_pure_extern call_llvm_intrin call_llvm_pure_intrin
tvm_storage_sync tvm_thread_allreduce tvm_warp_shuffle tvm_warp_shuffle_up tvm_warp_shuffle_down
tvm_warp_shuffle_xor tvm_warp_activemask
"""

_R = """
func_attr Tensor Tuple Shape Prim Object dataflow output call_tir const tuple shape match_cast prim_value
str dtype TupleGetItem ShapeExpr
abs acos acosh add arange argmax argmin argsort asin asinh astype atan atan2 atanh bitwise_and bitwise_not bitwise_or
bitwise_xor broadcast_to bucketize ceil clip collapse_sum_like collapse_sum_to concat cos cosh cumprod cumsum
dequantize divide dynamic_strided_slice einsum equal erf ewise_fma exp expand_dims eye eye_like flatten flip floor
floor_divide floor_mod full full_like gather_elements gather_nd greater greater_equal hamming_window index_put
index_tensor isfinite isinf isnan layout_transform left_shift less less_equal linear log log_add_exp logical_and
logical_not logical_or logical_xor matmul max maximum mean median meshgrid min minimum mod multiply negative not_equal
one_hot ones ones_like outer permute_dims power prod quantize repeat reshape reverse_sequence right_shift round rsqrt
scatter_elements scatter_nd shape_of shape_to_tensor sigmoid sign sin sinh slice_scatter sort split sqrt square squeeze
stack std strided_slice subtract sum take tan tanh tensor_to_shape tile topk tril triu trunc variance where zeros
zeros_like
nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d nn.attention nn.attention_bias nn.avg_pool1d
nn.avg_pool2d nn.avg_pool3d nn.batch_flatten nn.batch_norm nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose
nn.conv3d nn.conv3d_transpose nn.cross_entropy_with_logits nn.gelu nn.gelu_tanh nn.group_norm nn.instance_norm
nn.layer_norm nn.leakyrelu nn.log_softmax nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.nll_loss nn.pad nn.pixel_shuffle
nn.prelu nn.relu nn.relu6 nn.rms_norm nn.selu nn.silu nn.softmax nn.softplus
image.resize2d image.resize3d image.affine_grid image.grid_sample vision.all_class_non_max_suppression vision.roi_align
"""

FUNCTIONS = frozenset(
    [f"T.{name}" for name in _T.split()]
    + [f"R.{name}" for name in _R.split()]
    + [f"T.{name}x{lanes}" for name in _SCALARS if name != "bfloat16" for lanes in _LANES]
    + ["I.module_attrs", *DTYPES]
)
"""Dotted names that may be called."""

ANNOTATIONS = DTYPES | {"R.Object", "R.Tensor", "R.Tuple", "R.Shape"}
"""Dotted names that may stand in an annotation without being called."""

PYTHON_CALLS = frozenset({"range", "int", "float", "bool"})
"""Python builtins that may be called."""

HARMLESS_BUILTINS = frozenset(
    (
        "abs",
        "enumerate",
        "len",
        "list",
        "max",
        "min",
        "print",
        "round",
        "sorted",
        "str",
        "sum",
        "tuple",
        "zip",
    )
)
"""Builtins that a writer of Python reaches for by habit; refused, but no sign of an attempt to escape."""

BUILTINS = frozenset(dir(builtins))
"""Names that Python would resolve where the program does not define them yet; a program may not bind them."""

HONEST_MODULES = frozenset({"tvm", "math", "numpy", "torch", "typing", "__future__"})
"""Modules that a writer of TVMScript imports by habit; refused with advice."""

MODULE_ALIASES = frozenset({"tvm", "tir", "tirx", "relax", "topi", "math", "np", "numpy", "torch", "s_tir"})
"""Names under which those modules are used."""

NUMBER_NAMES = frozenset({"pi", "e", "inf", "nan", "tau"})
"""Constants of `math` and `numpy`."""

SCRIPT_IMPORTS = frozenset({("ir", "I"), ("relax", "R"), ("tirx", "T"), ("tir", "T")})
"""What may be imported, with its name, from `tvm.script`."""

RENAMED = {
    "T.block": "T.sblock",
    "T.block_attr": "T.sblock_attr",
    "T.allocate": "T.alloc_buffer",
    "T.meta_var": "a plain name or T.let",
    "T.macro": "the statements written out",
    "T.call_extern": "T.call_pure_extern",
    "R.emit": "an assignment",
}
"""Functions of earlier versions, or with side effects, and what to write instead."""

RENAMED_ARGUMENTS = {"out_sinfo": "out_ty", "sinfo_args": "ty_args"}
"""Argument names of earlier versions."""

SYMBOL = re.compile(r"(?!_|TVM|tvm)[A-Za-z][A-Za-z0-9_]{0,100}")
"""What a kernel's `global_symbol` may be; the build drops it and names the symbols itself."""

DTYPE = re.compile(r"(?:bool|void|(?:u?int|float|bfloat)\d{1,3}(?:_\w{1,12})?(?:x\d{1,3})?)")
"""Names of element types."""

LOCAL_ATTRIBUTES = frozenset({"data", "shape", "dtype", "strides", "elem_offset"})
"""Attributes of a local name that may be read."""

LOCAL_METHODS = frozenset({"astype", "vload", "view"})
"""Methods of a local name or of an expression that may be called."""

RESERVED = frozenset(
    {"T", "R", "I", "Tx", "tvm", "tir", "tirx", "ir", "relax", "Axis", "TypeVar", *PYTHON_CALLS}
)
"""Names the parser defines itself; a program may not bind them."""

STRING_ATTRIBUTES = frozenset(
    (
        "double_buffer_scope",
        "global_symbol",
        "layout_free_buffers",
        "meta_schedule.layout_rewrite_preproc",
        "meta_schedule.tiling_structure",
        "thread_extent",
    )
)
"""Attributes of functions, blocks and loops that may hold a string. Not among them: `schedule_rule` and
`meta_schedule.inline_rule`, which name functions to call, and `pragma_import_*`, which hold source code."""

_MATH_H = """
exp exp2 expm1 log log2 log1p log10 sqrt cbrt pow sin cos tan asin acos atan atan2 sinh cosh tanh erf erfc floor ceil
round trunc rint nearbyint fabs fma fmod fmin fmax hypot copysign
"""

EXTERN_FUNCTIONS = frozenset(name + suffix for name in _MATH_H.split() for suffix in ("", "f"))
"""C functions of <math.h> that `T.call_pure_extern` may name: no memory, no state."""

LLVM_INTRINSIC = re.compile(
    r"llvm\.(?:(?:fma|fmuladd|sqrt|exp2?|log(?:2|10)?|pow|powi|sin|cos|floor|ceil|trunc|rint|nearbyint|round|fabs"
    r"|copysign|minnum|maxnum|minimum|maximum|smin|smax|umin|umax|abs|ctpop|ctlz|cttz|fshl|fshr|bswap|bitreverse"
    r"|[su]?(?:add|sub)\.sat|vector\.reduce\.\w+)(?:\.\w+)+"
    r"|x86\.(?:sse\w*|ssse3|avx\w*|fma\w*)\.(?!.*(?:gather|scatter|mask\.(?:load|store)|mov|stor|load|mxcsr|flush|monitor|mwait))[\w.]+"
    r"|aarch64\.neon\.(?!.*(?:ld|st)\d)[\w.]+)"
)
"""LLVM intrinsics that compute on registers only."""
