from __future__ import annotations

import contextlib
import time

import pytest

from edgelab.errors import FailureClass
from edgelab.kernel.guard import GuardRefusal
from edgelab.kernel.source_guard import llvm_ir
from edgelab.kernel.source_guard.findings import MAX_GROWTH_CHARACTERS
from edgelab.kernel.source_guard.llvm_text import entities

ORIGINAL = r"""; ModuleID = 'TVMMod'
source_filename = "TVMMod"
target datalayout = "e-m:e-p270:32:32-i64:64-n8:16:32:64-S128"
target triple = "x86_64-conda-linux-gnu"

%closure_loop_parallel_i = type { ptr, ptr }

@.str = private constant [10 x i8] c"TypeError\00", align 1
@__TVMBackendParallelLaunch = linkonce dllexport local_unnamed_addr global ptr null, align 8
@llvm.global_ctors = appending global [0 x { i32, ptr, ptr }] zeroinitializer

define dllexport i32 @__tvm_ffi_scale(ptr noalias %self_handle, ptr noalias readonly captures(none) %args, i32 %num_args, ptr %result) local_unnamed_addr #0 !dbg !5 {
entry:
    #dbg_value(ptr %args, !6, !DIExpression(DW_OP_LLVM_convert, 64, DW_ATE_unsigned), !7)
  %0 = icmp eq i32 %num_args, 2, !dbg !7
  br i1 %0, label %good, label %bad, !prof !9

bad:                                              ; preds = %entry
  tail call fastcc void @raise(ptr nonnull @.str), !dbg !7
  ret i32 -1

good:                                             ; preds = %entry
  %1 = load ptr, ptr %args, align 8
  %2 = load ptr, ptr @__TVMBackendParallelLaunch, align 8
  %3 = call i32 %2(ptr nonnull @lambda, ptr nonnull %1, i32 0), !dbg !7
  ret i32 %3
}

define internal fastcc void @raise(ptr %0) unnamed_addr #1 {
entry:
  call void @TVMFFIErrorSetRaisedFromCStrParts(ptr %0, ptr nonnull %0, i32 1)
  ret void
}

define private noundef i32 @lambda(i32 %task_id, ptr readonly captures(none) %0, ptr readonly %1) #0 {
entry:
  br label %loop

loop:                                             ; preds = %loop, %entry
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %2 = getelementptr inbounds float, ptr %0, i64 %i
  %3 = load float, ptr %2, align 4, !tbaa !8
  %4 = fmul float %3, 2.000000e+00
  %5 = fadd float %4, 0x3FF0000000000000
  %6 = tail call float @llvm.exp.f32(float %5)
  store float %6, ptr %2, align 4, !tbaa !8
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, 64
  br i1 %done, label %exit, label %loop, !llvm.loop !10

exit:                                             ; preds = %loop
  ret i32 0
}

declare void @TVMFFIErrorSetRaisedFromCStrParts(ptr, ptr, i32) local_unnamed_addr

declare float @llvm.exp.f32(float) #2

attributes #0 = { "target-cpu"="znver4" }
attributes #1 = { noinline }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "TVM", emissionKind: FullDebug)
!1 = !DIFile(filename: "IRModule.CodeGenLLVM", directory: ".")
!2 = !{i32 2, !"tvm_target", !"{\22kind\22:\22llvm\22}"}
!3 = !{i32 4, !"Dwarf Version", i32 4}
!5 = distinct !DISubprogram(name: "__tvm_ffi_scale", scope: !1, file: !1, unit: !0)
!6 = !DILocalVariable(name: "args", arg: 2, scope: !5, file: !1)
!7 = !DILocation(line: 0, scope: !5)
!8 = !{!"tvm-tbaa"}
!9 = !{!"branch_weights", i32 1048576, i32 1}
!10 = distinct !{!10, !11}
!11 = !{!"llvm.loop.isvectorized", i32 1}
"""

MULTIPLY = "%4 = fmul float %3, 2.000000e+00"
DECLARE_EXP = "declare float @llvm.exp.f32(float) #2\n"


def edit(*changes: tuple[str, str]) -> str:
    text = ORIGINAL
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} must be in the original once"
        text = text.replace(old, new)
    return text


def before(line: str) -> tuple[str, str]:
    """The change that puts `line` in front of the kernel's multiplication."""
    return MULTIPLY, f"{line}\n  {MULTIPLY}"


HONEST = {
    "nothing": edit(),
    "comments and spaces": edit((MULTIPLY, f"; twice\n   {MULTIPLY}   ; asm inttoptr @system()")),
    "fast-math flags": edit(("fmul float", "fmul fast float"), ("fadd float", "fadd reassoc nnan contract float")),
    "unroll metadata": edit(("!11 = !{", '!12 = !{!"llvm.loop.unroll.count", i32 4}\n!11 = !{'),
                            ("!10 = distinct !{!10, !11}", "!10 = distinct !{!10, !11, !12}")),
    "vector width": edit(('{ "target-cpu"="znver4" }', '{ "target-cpu"="znver4" "prefer-vector-width"="512" }')),
    "unsafe maths": edit(('{ "target-cpu"="znver4" }', '{ nounwind "target-cpu"="znver4" "unsafe-fp-math"="true" }')),
    "prefetch": edit(before("call void @llvm.prefetch.p0(ptr %2, i32 0, i32 3, i32 1)"),
                     (DECLARE_EXP, DECLARE_EXP + "declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg) #2\n")),
    "fused multiply and add": edit(("%5 = fadd float %4, 0x3FF0000000000000",
                                    "%5 = call fast float @llvm.fma.f32(float %4, float 1.0, float 1.0)"),
                                   (DECLARE_EXP, DECLARE_EXP + "declare float @llvm.fma.f32(float, float, float)\n")),
    "vectors": edit(before("%v = load <8 x float>, ptr %2, align 4\n  %w = shufflevector <8 x float> %v, <8 x float> poison,"
                           " <8 x i32> zeroinitializer\n  %s = call float @llvm.vector.reduce.fadd.v8f32(float 0.0, <8 x float> %w)"),
                    (DECLARE_EXP, DECLARE_EXP + "declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)\n")),
    "libm": edit(("@llvm.exp.f32(float %5)", "@expf(float %5)"), (DECLARE_EXP, DECLARE_EXP + "declare float @expf(float)\n")),
    "a table": edit(("@.str =", "@table = private unnamed_addr constant [2 x float] [float 1.0, float 2.0], align 16\n@.str ="),
                    before("%t = getelementptr inbounds [2 x float], ptr @table, i64 0, i64 1")),
    "another block": edit(("br label %loop\n\nloop:", "br label %more\n\nmore:\n  br label %loop\n\nloop:"),
                          ("[ 0, %entry ]", "[ 0, %more ]")),
    "without the check of arguments": edit(("br i1 %0, label %good, label %bad, !prof !9", "br label %good")),
    "an assumption": edit(before('call void @llvm.assume(i1 true) [ "align"(ptr %0, i64 64) ]'),
                          (DECLARE_EXP, DECLARE_EXP + "declare void @llvm.assume(i1 noundef)\n")),
    "odd integers": edit(before("%bits = bitcast <4 x i1> splat (i1 true) to i4")),
    "stack": edit(before("%buffer = alloca [16 x float], align 64")),
}  # fmt: skip


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST.keys())
def test_an_honest_edit_passes(text: str):
    llvm_ir.check(text, ORIGINAL)


HOSTILE = {
    "inline assembly": (edit(before('call void asm sideeffect "syscall", ""()')), "inline assembly"),
    "assembly behind a type": (edit(before('%a = call i64 asm "mov $0, fs:0", "=r"()')), "inline assembly"),
    "module assembly": ('module asm ".globl x"\n' + ORIGINAL, "module-level assembly"),
    "an external function": (edit(before("%a = call i32 @system(ptr @.str)"),
                                  (DECLARE_EXP, DECLARE_EXP + "declare i32 @system(ptr)\n")), "@system is not on the list"),
    "an undeclared function": (edit(before("%a = call i32 @system(ptr @.str)")), "neither in the generated source"),
    "a quoted name": (edit(before('%a = call i32 @"\\73ystem"(ptr @.str)')), "neither in the generated source"),
    "an address of a function": (edit(before("store ptr @dlsym, ptr %2")), "neither in the generated source"),
    "a call of a loaded pointer": (edit(before("%f = load ptr, ptr %0\n  call void %f(i32 1)")), "through the pointer %f"),
    "a call of an argument": (edit(before("call void %1(i32 1)")), "through the pointer %1"),
    "a call of an expression": (edit(before("call void getelementptr (i8, ptr @raise, i64 4)(ptr %0)")), "without a name"),
    "a number as address": (edit(before("%p = inttoptr i64 140000000 to ptr")), "number as an address"),
    "a constant expression": (edit(before("store float 0.0, ptr inttoptr (i64 4096 to ptr)")), "number as an address"),
    "an address as number": (edit(before("%p = ptrtoint ptr @lambda to i64")), "address as a number"),
    "a computed jump": (edit(before("indirectbr ptr %0, [label %exit]")), "indirectbr"),
    "an address of code": (edit(before("store ptr blockaddress(@lambda, %loop), ptr %2")), "blockaddress"),
    "a constructor": (edit(("[0 x { i32, ptr, ptr }] zeroinitializer",
                            "[1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @lambda, ptr null }]")), "@llvm.global_ctors was changed"),
    "a destructor": (edit(("@.str =", "@llvm.global_dtors = appending global [0 x { i32, ptr, ptr }] zeroinitializer\n@.str =")),
                     "not a private constant"),
    "memory between calls": (edit(("@.str =", "@cache = internal global [64 x float] zeroinitializer\n@.str =")), "between calls"),
    "thread-local memory": (edit(("@.str =", "@cache = internal thread_local global float 0.0\n@.str =")), "between calls"),
    "an alias": (edit(("@.str =", "@x = alias i32, ptr @lambda\n@.str =")), "not a private constant"),
    "a resolver": (edit(("@.str =", "@x = ifunc i32 (), ptr @lambda\n@.str =")), "not a private constant"),
    "a table of functions": (edit(("@.str =", "@x = private constant [1 x ptr] [ptr @lambda]\n@.str =")), "holds an address"),
    "another runtime function": (edit(before("store ptr @lambda, ptr @__TVMBackendParallelLaunch")), "may only be loaded from"),
    "a hidden section": (edit(("@.str =", '@x = private constant i32 1, section ".init_array"\n@.str =')), "a section"),
    "linker options": (edit(("!llvm.dbg.cu =", "!llvm.linker.options = !{!11}\n!llvm.dbg.cu =")), "!llvm.linker.options was added"),
    "module flags": (edit(("!{!2, !3}", "!{!2, !3, !11}")), "!llvm.module.flags was changed"),
    "another target by flag": (edit((r'!"{\22kind\22:\22llvm\22}"', r'!"{\22kind\22:\22c\22}"')), "module flag !2 was changed"),
    "other instructions": (edit(('"target-cpu"="znver4"', '"target-cpu"="znver5"')), '"target-cpu" was changed'),
    "an unknown attribute": (edit(('"target-cpu"="znver4"', '"target-cpu"="znver4" "patchable-function"="prologue"')), "not on the list"),
    "an attribute of the linker": (edit(("{ noinline }", "{ naked }")), "the word naked is not on the list"),
    "a carriage return": (edit((MULTIPLY, f"; \rcall void asm\n  {MULTIPLY}")), r"U\+000D"),
    "letters of another script": (edit((MULTIPLY, f"; ａsm\n  {MULTIPLY}")), r"U\+FF41"),
    "a landing pad": (edit(before("invoke void @raise(ptr %0) to label %exit unwind label %exit")), "exceptions"),
    "an atomic": (edit(before("%a = atomicrmw add ptr %0, i32 1 seq_cst")), "atomic"),
    "a clock": (edit(before("%a = call i64 @llvm.readcyclecounter()"),
                     (DECLARE_EXP, DECLARE_EXP + "declare i64 @llvm.readcyclecounter()\n")), "not on the list"),
    "text for the runtime": (edit(before('call void @llvm.assume(i1 true) [ "clang.arc.attachedcall"(ptr @raise) ]'),
                                  (DECLARE_EXP, DECLARE_EXP + "declare void @llvm.assume(i1)\n")), "attachedcall"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_edit_is_refused_with_its_reason(text: str, reason: str):
    with pytest.raises(GuardRefusal, match=reason):
        llvm_ir.check(text, ORIGINAL)


INTERFACE = {
    "a renamed function": (edit(("@__tvm_ffi_scale(", "@__tvm_ffi_twice(")), "@__tvm_ffi_scale was removed or renamed"),
    "an added function": (ORIGINAL + "\ndefine i32 @more() {\n  ret i32 0\n}\n", "@more was added"),
    "a removed function": (ORIGINAL.replace(ORIGINAL[ORIGINAL.index("define internal"):ORIGINAL.index("define private")], ""),
                           "@raise was removed"),
    "a changed argument": (edit(("i32 %num_args, ptr %result", "i64 %num_args, ptr %result")), "signature of function @__tvm_ffi_scale"),
    "a changed linkage": (edit(("define private noundef", "define dllexport noundef")), "signature of function @lambda"),
    "an exception handler": (edit(("ptr readonly %1) #0 {", "ptr readonly %1) #0 personality ptr @raise {")), "signature of function @lambda"),
    "a prefix": (edit(("ptr readonly %1) #0 {", "ptr readonly %1) #0 prefix i32 7 {")), "signature of function @lambda"),
    "a global of the interface": (edit(("linkonce dllexport local_unnamed_addr global ptr null", "weak global ptr null")),
                                  "@__TVMBackendParallelLaunch was changed"),
    "a missing global": (edit(("@__TVMBackendParallelLaunch = linkonce dllexport local_unnamed_addr global ptr null, align 8\n", "")),
                         "@__TVMBackendParallelLaunch was removed"),
    "another triple": (edit(("x86_64-conda-linux-gnu", "aarch64-linux-gnu")), "target triple was changed"),
    "another layout": (edit(("e-m:e-p270:32:32-", "E-")), "target datalayout was changed"),
    "another type": (edit(("{ ptr, ptr }\n", "{ ptr, i64 }\n")), "type %closure_loop_parallel_i was changed"),
    "two of one name": (ORIGINAL + "\ndeclare float @llvm.exp.f32(float)\n", "defined twice"),
    "a changed declaration": (edit(("declare float @llvm.exp.f32(float) #2", "declare double @llvm.exp.f32(double) #2")),
                              "declaration of @llvm.exp.f32 was changed"),
    "nothing but text": ("hello", "does not start anything"),
    "an open bracket": (edit(("ret i32 0\n}", "ret i32 0\n")), "bracket"),
    "a directive": (ORIGINAL + "\nuselistorder ptr @raise, { 1, 0 }\n", "directive uselistorder"),
    "nothing": ("", "was removed"),
    "too much": (ORIGINAL + ";" * MAX_GROWTH_CHARACTERS + "\n", "characters; "),
}  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), INTERFACE.values(), ids=INTERFACE.keys())
def test_a_changed_interface_is_refused_and_named(text: str, reason: str):
    with pytest.raises(GuardRefusal, match=reason) as caught:
        llvm_ir.check(text, ORIGINAL)
    assert caught.value.failure_class is FailureClass.SYNTAX_API


def test_reaching_for_the_machine_is_a_hack_and_the_line_is_named():
    with pytest.raises(GuardRefusal) as caught:
        llvm_ir.check(HOSTILE["inline assembly"][0], ORIGINAL)
    assert caught.value.failure_class is FailureClass.HACK
    assert caught.value.line == HOSTILE["inline assembly"][0].split("call void asm")[0].count("\n") + 1


def test_a_function_that_calls_the_runtime_by_name_stays_as_it_is():
    lookup = ORIGINAL.replace("@TVMFFIErrorSetRaisedFromCStrParts", "@TVMFFIFunctionCall")
    llvm_ir.check(lookup.replace("fmul float", "fmul fast float"), lookup)
    with pytest.raises(GuardRefusal, match="@raise calls the runtime by name"):
        llvm_ir.check(lookup.replace("ptr nonnull %0, i32 1)", "ptr nonnull %0, i32 2)"), lookup)
    with pytest.raises(GuardRefusal, match="@lambda calls the runtime by name"):
        llvm_ir.check(
            lookup.replace(MULTIPLY, f"call void @TVMFFIFunctionCall(ptr %0, ptr %0, i32 1)\n  {MULTIPLY}"),
            lookup,
        )


def test_entities_have_kinds_and_names():
    kinds = {(entity.kind, entity.name) for entity in entities(ORIGINAL)}
    assert {("define", "@lambda"), ("global", "@.str"), ("type", "%closure_loop_parallel_i"), ("attributes", "#0"),
            ("metadata", "!10"), ("target", "triple"), ("declare", "@llvm.exp.f32")} <= kinds  # fmt: skip


ENDLESS = (
    "-",
    ".",
    '"',
    'c"',
    "!",
    "%",
    "@",
    "call i32 ",
    "[",
    "{}",
    "#dbg_value(",
    "0",
    "!DIExpression(",
    "a:",
    "; ",
    "$",
    '"a" ',
)


@pytest.mark.parametrize("piece", ENDLESS)
def test_a_long_text_takes_linear_time(piece: str):
    began = time.process_time()
    with contextlib.suppress(GuardRefusal):
        llvm_ir.check(edit(before(piece * (100_000 // len(piece)))), ORIGINAL)
    assert time.process_time() - began < 3, "100 kB take a quarter of a second where time is linear"
