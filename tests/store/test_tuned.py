"""Tuned kernels in the store: found by all that a schedule depends on, with their batches."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from edgelab.errors import NotReadyError
from edgelab.store.schema import SCHEMA_VERSION, migrate
from edgelab.store.tuned import TunedBatch, TunedKernel, TunedStore
from tests.support.records import a_run

KERNEL = TunedKernel(
    task="t",
    profile="linux-x86_64",
    target='{"kind":"llvm"}',
    tvm_version="0.27.0",
    digest="00ff",
    name="fused_matmul",
    search_class="matmul",
    weight=3,
)


@pytest.fixture
def store(tmp_path: Path):
    with TunedStore(tmp_path / "edgelab.db", tmp_path / "blobs") as store:
        yield store


def test_a_kernel_comes_back_as_it_was_written(store):
    done = msgspec.structs.replace(
        KERNEL, state="tuned", trace="[1]", tuned_latency_s=1e-5, trials=64, failed=2
    )
    store.put_kernel(done)
    found = store.kernel(done.key)
    assert msgspec.structs.replace(found, updated_s=0.0) == done
    assert found.updated_s > 0
    assert store.kernels("t", "linux-x86_64") == [found]


def test_a_later_row_takes_the_place_of_the_earlier_one(store):
    store.put_kernel(msgspec.structs.replace(KERNEL, trials=64))
    store.put_kernel(msgspec.structs.replace(KERNEL, trials=128))
    assert [kernel.trials for kernel in store.kernels("t", "linux-x86_64")] == [128]


@pytest.mark.parametrize("field", ["task", "profile", "target", "tvm_version", "digest"])
def test_everything_that_a_schedule_depends_on_makes_another_key(field):
    assert msgspec.structs.replace(KERNEL, **{field: "other"}).key != KERNEL.key


def test_what_is_learnt_does_not_change_the_key():
    assert msgspec.structs.replace(KERNEL, state="tuned", trials=9, name="other").key == KERNEL.key


def test_batches_come_back_in_order_and_are_forgotten_together(store):
    store.put_kernel(KERNEL)
    batches = [TunedBatch(1, 2, b"a\nb\n"), TunedBatch(1, 1, b"c\n"), TunedBatch(2, 1, b"d\n")]
    for batch in batches:
        store.add_batch(KERNEL.key, batch)
    store.add_batch("another", TunedBatch(1, 1, b"x\n"))
    assert store.batches(KERNEL.key) == batches
    store.forget(KERNEL.key)
    assert store.batches(KERNEL.key) == []
    assert store.kernel(KERNEL.key) is None
    assert store.batches("another") == [TunedBatch(1, 1, b"x\n")]


def test_a_damaged_batch_is_left_out(store, tmp_path):
    store.add_batch(KERNEL.key, TunedBatch(1, 1, b"first\n"))
    store.add_batch(KERNEL.key, TunedBatch(1, 1, b"second\n"))
    first = next(path for path in sorted((tmp_path / "blobs").rglob("*")) if path.is_file())
    first.write_bytes(b"garbage")
    assert len(store.batches(KERNEL.key)) == 1


def test_a_lost_schedule_is_told_with_what_to_do(store, tmp_path):
    store.put_kernel(msgspec.structs.replace(KERNEL, state="tuned", trace="[1]"))
    for path in (tmp_path / "blobs").rglob("*"):
        if path.is_file():
            path.unlink()
    with pytest.raises(NotReadyError, match="fused_matmul of t cannot be read") as caught:
        store.kernels("t", "linux-x86_64")
    assert "edgelab tune t" in caught.value.advice


def test_a_store_of_the_schema_before_gets_the_tables_and_keeps_its_runs(tmp_path):
    from edgelab.store import schema
    from edgelab.store.reader import StoreReader
    from edgelab.store.writer import StoreWriter

    database = tmp_path / "old.db"
    with StoreWriter(database) as writer:
        writer.create_run(a_run("r1"))
    with sqlite3.connect(database) as connection:
        # Back to how version 3 left a store.
        connection.execute("DROP TABLE tuned_kernels")
        connection.execute("DROP TABLE tuned_batches")
        connection.execute("DELETE FROM _sqlite_migrations WHERE name = '0004_tuning'")
        connection.execute("PRAGMA user_version=3")
    migrate(database)
    with TunedStore(database, tmp_path / "blobs") as store:
        store.put_kernel(KERNEL)
        assert store.kernel(KERNEL.key) is not None
    with StoreReader(database) as reader:
        assert reader.run("r1") is not None
    assert schema.SCHEMA_VERSION == SCHEMA_VERSION >= 4
