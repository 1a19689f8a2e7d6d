"""Engines by name, and what is said of one that is not here."""

from __future__ import annotations

import ast
import importlib.metadata
from pathlib import Path

import pytest

import edgelab
from edgelab.bench.engines.engine import InstalledEngine
from edgelab.bench.engines.registry import ENGINES, find_engine
from edgelab.errors import UsageError
from tests.support.engines import absent


def test_every_engine_has_a_name_of_its_own_and_a_runner_that_exists():
    assert len({engine.name for engine in ENGINES}) == len(ENGINES) == 4
    for engine in ENGINES:
        module, _, name = engine.runner.partition(":")
        path = Path(edgelab.__file__).parents[1] / (module.replace(".", "/") + ".py")
        classes = [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
        assert name in classes


def test_an_unknown_engine_gets_the_nearest_names():
    with pytest.raises(UsageError, match="onnxruntime"):
        find_engine("onnx_runtime")
    with pytest.raises(UsageError, match=r"Nearest: torch, torch_compile, onnxruntime, mnn\."):
        find_engine("zzz")


def test_an_installed_engine_tells_its_version():
    found = find_engine("torch").available()
    assert found.version == importlib.metadata.version("torch") == found.versions["torch"]
    assert not found.reason


def test_a_missing_engine_says_what_is_missing_and_how_to_get_it():
    found = absent().available()
    assert found.version is None
    assert found.reason == "not installed: edgelab-no-such"
    assert found.advice == "pip install 'edgelab[engines]'"


def test_one_of_several_packages_is_enough_to_be_missing():
    engine = InstalledEngine(name="x", title="x", runner="x:x", packages=("torch", "edgelab-no-such"))
    found = engine.available()
    assert found.version is None
    assert "torch" in found.versions
    assert found.reason == "not installed: edgelab-no-such"


def test_torch_compile_needs_a_compiler(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler++")
    found = find_engine("torch_compile").available()
    assert found.version is None
    assert "no-such-compiler++" in found.reason
    assert "g++" in found.advice


def test_threads_reach_the_environment_of_the_libraries(tmp_path):
    for engine in ENGINES:
        environment = engine.environment(3, tmp_path)
        assert environment["OMP_NUM_THREADS"] == "3"
        assert str(tmp_path) in environment["TORCHINDUCTOR_CACHE_DIR"]
