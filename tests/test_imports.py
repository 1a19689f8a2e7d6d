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
