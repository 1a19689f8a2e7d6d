from __future__ import annotations

import functools

import pytest

from edgelab.kernel import guard, guard_names


@pytest.mark.integration
def test_every_name_on_the_list_exists_in_tvm():
    from tvm.script.parser import ir, relax, tirx

    roots = {"I": ir, "R": relax, "T": tirx}
    for dotted in guard_names.FUNCTIONS | guard_names.ANNOTATIONS:
        root, *path = dotted.split(".")
        assert (
            functools.reduce(lambda value, name: getattr(value, name, None), path, roots[root]) is not None
        ), dotted


@pytest.mark.integration
def test_what_tvm_prints_of_scheduled_kernels_is_admitted():
    import tvm
    from tvm import relax
    from tvm.s_tir import Schedule

    from edgelab.kernel.warm_up import PROGRAM

    module = tvm.script.from_source(PROGRAM)
    schedules = [Schedule(module) for _ in range(3)]
    for schedule in schedules:
        schedule.work_on("scale")
    blocks = [schedule.get_sblock("B") for schedule in schedules]
    cpu, gpu, factored = schedules
    i, j, k = cpu.get_loops(blocks[0])
    outer, inner = cpu.split(j, [None, 3])
    cpu.parallel(i)
    cpu.vectorize(inner)
    cpu.unroll(outer)
    cpu.decompose_reduction(blocks[0], k)
    i, j, k = gpu.get_loops(blocks[1])
    gpu.cache_read(blocks[1], 0, "shared")
    written = gpu.cache_write(blocks[1], 0, "local")
    gpu.bind(i, "blockIdx.x")
    gpu.bind(j, "threadIdx.x")
    gpu.reverse_compute_at(written, j)
    i, j, k = factored.get_loops(blocks[2])
    factored.rfactor(factored.split(k, [4, None])[0], 0)
    factored.annotate(factored.get_loops(blocks[2])[0], "pragma_auto_unroll_max_step", 64)
    for printed in (relax.get_pipeline("zero")(module), *(schedule.mod for schedule in schedules)):
        text = printed.script(show_meta=False)
        guard.check(text)
        tvm.script.from_source(text)
