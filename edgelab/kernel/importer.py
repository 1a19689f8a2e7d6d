"""PyTorch to KernelProgram: torch.export, then Relax, with every weight and buffer as a named parameter."""

# Fields of TVM's objects are declared in C++, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np
import torch
import tvm
import tvm_ffi
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind, TensorArgument
from tvm import relax
from tvm.ir import Expr, GenericConst, Var
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.frontend.torch import from_exported_program

from edgelab.kernel.converters import CONVERTERS
from edgelab.kernel.import_errors import ExportError, UnsupportedOperator
from edgelab.kernel.program import KernelProgram, ProgramLevel, ProgramOrigin, TensorSpec

__all__ = ["ExportError", "ImportedProgram", "UnsupportedOperator", "import_model"]

_INLINE_DTYPES = frozenset({"float16", "float32", "float64", "int32", "int64", "bool"})


class ImportedProgram(msgspec.Struct, frozen=True):
    """A model as a program, with the arrays and specs that an evaluation needs."""

    program: KernelProgram
    params: dict[str, np.ndarray]
    """Arrays by parameter name (p0, p1, ...), in the order in which `main` takes them."""
    param_sources: dict[str, str]
    """PyTorch name of each parameter, such as `features.0.weight`; `constant` where it has none."""
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    output_structure: Literal["tensor", "tuple"]


def import_model(model: torch.nn.Module, inputs: Sequence[object], *, task: str) -> ImportedProgram:
    """Translate `model`, applied to `inputs`, into a program for the task named `task`.

    The model is put into evaluation mode. Parameters the output does not depend on are dropped.
    Raises UnsupportedOperator for an operator without a Relax translation and ExportError for
    everything else that keeps the model from becoming a static program.
    """
    for index, value in enumerate(inputs):
        if not isinstance(value, torch.Tensor):
            raise ExportError(task, f"input {index} is a {type(value).__name__}, not a tensor")
    exported = _export(model.eval(), tuple(inputs), task)
    structure = _structure(exported, task)
    module = _translate(exported, structure, task)
    main, values, sources = _name_parameters(module["main"], exported)
    text = _script(main, task)
    return ImportedProgram(
        program=KernelProgram(text, task, ProgramLevel.GRAPH, ProgramOrigin.IMPORT),
        params=values,
        param_sources=sources,
        inputs=tuple(_spec(var.name, var.ty, task) for var in main.params[: len(inputs)]),
        outputs=_output_specs(main, task),
        output_structure=structure,
    )


def _export(model: torch.nn.Module, inputs: tuple[object, ...], task: str) -> torch.export.ExportedProgram:
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            exported = torch.export.export(model, inputs)
            exported = exported.run_decompositions()
    except Exception as error:
        raise ExportError(task, _first_line(error), detail=traceback.format_exc()) from error
    for spec in exported.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, ConstantArgument):
            raise ExportError(task, f"input {spec.arg.name} is not a tensor")
    return exported


def _translate(exported: torch.export.ExportedProgram, structure: str, task: str) -> tvm.IRModule:
    try:
        module = from_exported_program(
            exported,
            keep_params_as_input=True,
            unwrap_unit_return_tuple=structure == "tensor",
            custom_convert_map=CONVERTERS,
            run_ep_decomposition=False,
        )
    except Exception as error:
        operator = _operator_of(error)
        detail = traceback.format_exc()
        if operator:
            raise UnsupportedOperator(operator, task, detail=detail) from error
        raise ExportError(
            task, f"translation to Relax failed: {_first_line(error)}", detail=detail
        ) from error
    if len(module.functions) != 1:
        raise ExportError(task, "the model contains control flow that depends on data")
    return module


def _operator_of(error: Exception) -> str | None:
    """Name of the operator that the importer, or a converter inside it, gave up on."""
    missing = re.search(r"Unsupported function types \[(.*?)\]", str(error))
    if missing:
        return ", ".join(sorted(name.strip(" '\"") for name in missing[1].split(",")))
    frame = error.__traceback__
    operator = None
    while frame is not None:
        # The loop that walks the graph keeps the node it is converting in `func_name`.
        if frame.tb_frame.f_code.co_name == "_translate_fx_graph":
            operator = frame.tb_frame.f_locals.get("func_name")
        frame = frame.tb_next
    return operator


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0] or type(error).__name__


@mutator
class _Parametrise(PyExprMutator):
    """Renames variables, and replaces every constant that program text cannot hold by a new parameter."""

    def __init__(self, renamed: Mapping[Var, Var]) -> None:
        super().__init__()
        self.renamed = dict(renamed)
        self.hoisted: list[tuple[Var, tvm.runtime.Tensor]] = []

    def visit_var_(self, op: Var) -> Expr:
        """The variable's new name, where it has one."""
        return self.renamed.get(op, op)

    def visit_generic_const_(self, op: GenericConst) -> Expr:
        """The constant itself, or the parameter that stands for its value; equal objects share one."""
        if _prints_inline(op):
            return op
        for var, value in self.hoisted:
            if value.same_as(op.value):
                return var
        var = relax.Var(f"constant{len(self.hoisted)}", op.ty)
        self.hoisted.append((var, op.value))
        return var


def _prints_inline(constant: GenericConst) -> bool:
    """Whether TVMScript writes the constant as `R.const(value, dtype)` and reads the same value back."""
    array = constant.value.numpy()
    return array.ndim == 0 and str(array.dtype) in _INLINE_DTYPES and bool(np.isfinite(array))


def _name_parameters(
    main: relax.Function, exported: torch.export.ExportedProgram
) -> tuple[relax.Function, dict[str, np.ndarray], dict[str, str]]:
    """`main(in0.., p0..)` with the values of p0.. and their names in PyTorch."""
    input_count = int(main.attrs["num_input"])
    inputs = [relax.Var(f"in{i}", var.ty) for i, var in enumerate(main.params[:input_count])]
    used = set(relax.analysis.free_vars(main.body))
    weights = [var for var in main.params[input_count:] if var in used]
    params = [relax.Var(f"p{i}", var.ty) for i, var in enumerate(weights)]
    rename = _Parametrise(dict(zip([*main.params[:input_count], *weights], [*inputs, *params], strict=True)))
    body = rename.visit_expr(main.body)

    tensors = _tensors_by_target(exported)
    targets = {spec.arg.name: spec.target or "constant" for spec in exported.graph_signature.input_specs}
    sources = {var.name: targets[old.name] for var, old in zip(params, weights, strict=True)}
    values = {name: tensors[target] for name, target in sources.items()}
    hoisted = {}
    for var, value in rename.hoisted:
        name = f"p{len(values)}"
        hoisted[var] = relax.Var(name, var.ty)
        values[name] = value.numpy()
        sources[name] = _source_of(values[name], tensors, set(sources.values()))
    body = _Parametrise(hoisted).visit_expr(body)
    attributes = tvm.ir.make_node("ir.DictAttrs", global_symbol="main", num_input=input_count)
    named = relax.Function([*inputs, *params, *hoisted.values()], body, main.ret_ty, attrs=attributes)
    return named, values, sources


def _tensors_by_target(exported: torch.export.ExportedProgram) -> dict[str, np.ndarray]:
    tensors = {**exported.state_dict, **exported.constants}
    return {name: tensor.detach().contiguous().numpy() for name, tensor in tensors.items()}


def _source_of(value: np.ndarray, tensors: Mapping[str, np.ndarray], taken: set[str]) -> str:
    """PyTorch name of the buffer with this content. The importer binds buffers and forgets their names."""
    for name, tensor in tensors.items():
        same_kind = name not in taken and tensor.shape == value.shape and tensor.dtype == value.dtype
        if same_kind and tensor.tobytes() == value.tobytes():
            return name
    return "constant"


def _script(main: relax.Function, task: str) -> str:
    """TVMScript of a module with this `main`, proven to read back as the same module."""
    module = tvm.IRModule({"main": main})
    text = module.script(show_meta=False)
    # TVM puts commented imports first, which a person would take for a part of the program.
    text = text[text.index("@I.ir_module") :]
    if "metadata[" in text:
        raise ExportError(task, "the program holds a constant that text cannot express", detail=text)
    try:
        parsed = tvm.script.from_source(text)
    except Exception as error:
        raise ExportError(
            task, f"the imported program does not parse: {_first_line(error)}", detail=text
        ) from error
    mismatch = tvm_ffi.get_first_structural_mismatch(parsed, module)
    if mismatch is not None:
        raise ExportError(task, "the imported program changes when it is read back", detail=str(mismatch))
    return text


def _spec(name: str, ty: tvm.ir.Type, task: str) -> TensorSpec:
    if not isinstance(ty, relax.TensorType) or ty.shape is None:
        raise ExportError(task, f"{name} has the type {ty}, not that of a tensor of known shape")
    extents = ty.shape.values
    if not all(isinstance(extent, tvm.tirx.IntImm) for extent in extents):
        raise ExportError(task, f"{name} has a shape that depends on data: {ty}")
    return TensorSpec(name, tuple(int(extent) for extent in extents), str(ty.dtype))


def _output_specs(main: relax.Function, task: str) -> tuple[TensorSpec, ...]:
    fields = main.ret_ty.fields if isinstance(main.ret_ty, tvm.ir.TupleType) else [main.ret_ty]
    return tuple(_spec(f"out{index}", ty, task) for index, ty in enumerate(fields))


def _structure(exported: torch.export.ExportedProgram, task: str) -> Literal["tensor", "tuple"]:
    tree = exported.call_spec.out_spec
    tensors = all(
        isinstance(spec.arg, TensorArgument)
        for spec in exported.graph_signature.output_specs
        if spec.kind is OutputKind.USER_OUTPUT
    )
    if tree is not None and tensors and tree.is_leaf():
        return "tensor"
    # `type` is a named tuple's own class for what torch.max(x, 1) returns.
    is_sequence = tree is not None and isinstance(tree.type, type) and issubclass(tree.type, tuple | list)
    if (
        tree is None
        or not tensors
        or not is_sequence
        or not all(child.is_leaf() for child in tree.children())
    ):
        raise ExportError(task, "the model returns something other than a tensor or a flat tuple of tensors")
    return "tuple"
