"""Bad candidates and bad tasks: the right class, one clear message, the right status, nothing executed."""

from __future__ import annotations

import pytest

from edgelab.errors import ExitCode
from tests.support import candidates
from tests.support.cli import Cli

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def cli(tmp_path_factory) -> Cli:
    return Cli(tmp_path_factory.mktemp("home"))


@pytest.fixture
def judge(cli, tmp_path):
    def judge(text: str):
        path = tmp_path / "candidate.py"
        path.write_text(text)
        return cli.run_json(str(candidates.TINY), "--candidate", str(path))

    return judge


def test_a_good_candidate_is_measured(judge):
    status, report = judge(candidates.GOOD)
    assert report["failure"] is None
    assert (report["compiled"], report["correct"]) == (True, True)
    assert report["speedup"] > 0
    assert report["speedup_ci95"][0] <= report["speedup"] <= report["speedup_ci95"][1]
    assert report["verdict"] == ("ok" if report["quality"] != "none" else "unstable")
    assert status == (ExitCode.DONE if report["verdict"] == "ok" else ExitCode.NOT_READY)


@pytest.mark.parametrize(
    ("text", "failure_class", "said"),
    [
        pytest.param(candidates.SYNTAX_ERROR, "syntax_api", "line 5", id="syntax error"),
        pytest.param(candidates.UNKNOWN_NAME, "syntax_api", "T.maximal", id="unknown name"),
        pytest.param(candidates.WRONG_SHAPE, "syntax_api", "expected float32[64, 64]", id="wrong shape"),
        pytest.param(candidates.WRONG_DTYPE, "syntax_api", "got float64", id="wrong dtype"),
        pytest.param(candidates.WRONG, "numeric", "differs in 4096 of 4096", id="wrong values"),
        pytest.param(candidates.ZEROS, "numeric", "got 0, expected", id="zeros"),
        pytest.param(candidates.NOT_A_NUMBER, "numeric", "got nan", id="not a number"),
        pytest.param(
            candidates.OUT_OF_BOUNDS, "memory", "outside a buffer", id="out of bounds, seen in the build"
        ),
        pytest.param(candidates.SEGFAULT, "memory", "SIGSEGV", id="out of bounds, seen as a segfault"),
        pytest.param(candidates.ENDLESS, "timeout", "was killed", id="endless loop"),
        pytest.param(candidates.HUGE, "memory", "limit", id="100 GB"),
        pytest.param("", "syntax_api", "", id="empty file"),
        pytest.param("import os", "hack", "", id="import"),
    ],
)
def test_bad_candidates(judge, text, failure_class, said):
    status, report = judge(text)
    assert report["verdict"] == "failed"
    assert report["failure"]["class"] == failure_class
    assert said in report["failure"]["message"]
    assert len(report["failure"]["message"].splitlines()) == 1
    assert status == ExitCode.WORK_FAILED
    assert report["speedup"] is None
    assert report["latency_s"] == {"candidate": None, "baseline": None}


def test_python_in_a_candidate_is_refused_and_not_executed(judge, tmp_path):
    trace = tmp_path / "executed"
    status, report = judge(candidates.runs_python(f"touch {trace}"))
    assert report["failure"]["class"] == "hack"
    assert status == ExitCode.WORK_FAILED
    assert not trace.exists()


def test_failures_are_stored_like_measurements(cli, judge):
    _, report = judge(candidates.WRONG)
    with cli.reader() as reader:
        record = reader.run(report["run"])
        assert record.state == "done"
        assert record.result.failure.failure_class == "numeric"
        assert any(step.ok is False for step in reader.steps(record.id))
        assert reader.program(report["candidate_program"])["origin"] == "candidate"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise RuntimeError('at import')", "at import"),
        ("import torch\nclass Model(torch.nn.Module): pass\ndef get_init_inputs(): return []", "get_inputs"),
        ("x = (", "line 1"),
        (
            "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        raise ValueError('in forward')\n"
            "def get_inputs(): return [torch.randn(2)]\ndef get_init_inputs(): return []",
            "in forward",
        ),
    ],
)
def test_a_task_file_that_is_wrong_names_what_and_where(cli, tmp_path, body, said):
    path = tmp_path / "broken.py"
    path.write_text(body)
    done = cli("run", str(path))
    assert done.returncode == ExitCode.USAGE
    assert said in done.stdout + done.stderr
    assert "broken.py" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_an_operator_without_a_translation_is_named_with_the_task(cli, tmp_path):
    path = tmp_path / "exotic.py"
    path.write_text(
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        "        return torch.cummax(x, 0).values\n"
        "def get_inputs(): return [torch.randn(4, 4)]\ndef get_init_inputs(): return []\n"
    )
    done = cli("run", str(path))
    assert done.returncode == ExitCode.USAGE
    assert "cummax" in done.stdout
    assert "exotic" in done.stdout
