"""Import hygiene: light commands load neither torch nor TVM, and the core does not know Textual."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "tvm", "asyncssh")


def imported(code: str) -> set[str]:
    """Return the top-level packages in `sys.modules` after `code` ran in a fresh Python."""
    code = (
        f"{code}\nimport sys; sys.stdout.write(' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    )
    return set(
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout.split()
    )


@pytest.mark.parametrize(
    "module",
    [
        "edgelab.cli",
        "edgelab.commands.report",
        "edgelab.commands.run",
        "edgelab.commands.runs",
        "edgelab.commands.tasks",
        "edgelab.commands.devices",
        "edgelab.commands.doctor",
        "edgelab.commands.demo",
        "edgelab.commands.engines",
        "edgelab.runs.process",
        "edgelab.app",
    ],
)
def test_nothing_but_children_imports_torch_tvm_or_asyncssh(module):
    assert not imported(f"import {module}") & set(HEAVY)


@pytest.mark.parametrize(
    "module",
    ["edgelab.runs.process", "edgelab.commands.run", "edgelab.commands.report", "edgelab.store.reader"],
)
def test_the_core_does_not_import_textual(module):
    assert not imported(f"import {module}") & {"textual", "rich"}


def test_a_reader_of_events_does_without_sqlite_utils():
    assert "sqlite_utils" not in imported("import edgelab.store.reader")


def test_a_report_in_the_terminal_does_without_jinja2():
    assert "jinja2" not in imported("import edgelab.commands.report")


def test_the_app_is_imported_without_heavy_modules():
    forbidden = {*HEAVY, "numpy", "sqlite_utils", "psutil"}
    assert not imported("import edgelab.app") & forbidden


def test_every_screen_and_source_is_imported_without_torch_and_tvm():
    code = (
        "import pkgutil, importlib, edgelab.screens as s, edgelab.widgets as w\n"
        "for package in (s, w):\n"
        "    for found in pkgutil.iter_modules(package.__path__, package.__name__ + '.'):\n"
        "        importlib.import_module(found.name)\n"
        "import edgelab.runs.launch, edgelab.runs.control, edgelab.lab.host, edgelab.bench.tasks"
    )
    assert not imported(code) & set(HEAVY)


def test_the_core_together_does_not_import_textual():
    code = (
        "import edgelab.cli, edgelab.store.reader, edgelab.store.writer\n"
        "import edgelab.runs.launch, edgelab.runs.control\n"
        "import edgelab.lab.host, edgelab.lab.inventory, edgelab.bench.tasks"
    )
    assert "textual" not in imported(code)
