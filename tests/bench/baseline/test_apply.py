"""Which stored schedules make a baseline, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from edgelab.bench.baseline.apply import tuned_baseline
from edgelab.bench.baseline.tune import target_text
from edgelab.errors import NotReadyError
from edgelab.store.tuned import TunedKernel, TunedStore

TARGET = {"kind": "llvm", "mcpu": "znver4", "num-cores": 2}


def kernel(digest: str = "aa", **changes) -> TunedKernel:
    row = TunedKernel(
        task="t",
        profile="linux-x86_64",
        target=target_text(TARGET),
        tvm_version="0.27.0",
        digest=digest,
        name=f"kernel_{digest}",
        search_class="matmul",
        weight=1,
        state="tuned",
        trials=64,
        trace="[]",
    )
    return msgspec.structs.replace(row, **changes)


@pytest.fixture
def store(tmp_path: Path):
    with TunedStore(tmp_path / "edgelab.db", tmp_path / "blobs") as store:
        yield store


def find(store: TunedStore, **changes):
    wanted = {"task": "t", "profile": "linux-x86_64", "target": TARGET, "tvm_version": "0.27.0", **changes}
    return tuned_baseline(store, **wanted, device="local")


def refusal(store: TunedStore, **changes) -> NotReadyError:
    with pytest.raises(NotReadyError) as caught:
        find(store, **changes)
    return caught.value


def test_tuned_plain_and_fallback_kernels_make_a_baseline_together(store):
    store.put_kernel(kernel("aa"))
    store.put_kernel(kernel("bb", state="plain", trace=""))
    store.put_kernel(kernel("cc", state="fallback", trace="", trials=0, error="no space"))
    assert find(store).schedules == {"aa": "[]", "bb": "", "cc": ""}


def test_the_order_of_a_target_does_not_matter(store):
    store.put_kernel(kernel())
    assert find(store, target=dict(reversed(TARGET.items()))).schedules == {"aa": "[]"}


def test_without_a_tuning_the_command_is_named(store):
    error = refusal(store)
    assert "no tuned baseline of t for local" in error.message
    assert "edgelab tune t --device local" in error.advice


def test_another_tvm_is_not_used_and_said(store):
    store.put_kernel(kernel(tvm_version="0.26.0"))
    error = refusal(store)
    assert "with TVM 0.26.0, and this is TVM 0.27.0" in error.message


def test_another_target_is_not_used_and_said(store):
    store.put_kernel(kernel())
    assert "another target" in refusal(store, target={**TARGET, "mcpu": "znver3"}).message


def test_another_profile_has_nothing(store):
    store.put_kernel(kernel())
    assert "no tuned baseline" in refusal(store, profile="simulated:linux-x86_64").message


@pytest.mark.parametrize("state", ["open", "failed"])
def test_an_unfinished_kernel_makes_no_baseline(store, state):
    store.put_kernel(kernel("aa"))
    store.put_kernel(kernel("bb", state=state, trace=""))
    error = refusal(store)
    assert "not finished: kernel_bb" in error.message
    assert "--resume" in error.advice


def test_default_schedules_alone_are_no_tuned_baseline(store):
    store.put_kernel(kernel(state="fallback", trace="", trials=0, error="blockIdx is bound"))
    error = refusal(store)
    assert "blockIdx is bound" in error.message
    assert "--baseline plain" in error.advice


def test_trials_that_all_failed_are_no_tuned_baseline(store):
    store.put_kernel(kernel(state="plain", trace="", trials=64, failed=64))
    assert "No kernel of t could be tuned" in refusal(store).message


def test_the_file_of_schedules_is_named_by_its_content(store, tmp_path):
    store.put_kernel(kernel())
    path = find(store).write(tmp_path)
    assert msgspec.json.decode(path.read_bytes()) == {"aa": "[]"}
    assert find(store).write(tmp_path) == path
    store.put_kernel(kernel(trace="[1]"))
    assert find(store).write(tmp_path) != path
