"""`edgelab report`: formats, filters, comparison and errors, on stores that are filled, empty or damaged."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from edgelab.bench.tasks import Catalogue, catalogue_root
from edgelab.cli import cli
from edgelab.errors import ExitCode
from edgelab.store.writer import StoreWriter
from edgelab.visible_text import visible
from tests.support.records import a_run
from tests.support.report_store import HOSTILE, fill

SUITE = Catalogue.load(catalogue_root())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    fill(tmp_path / "edgelab.db")
    return tmp_path


def call(home: Path, *args: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), "report", *args])


def data(home: Path, *args: str) -> dict:
    done = call(home, "--json", *args)
    assert done.exit_code == 0, done.output
    return msgspec.json.decode(done.stdout)


def row_of(report: dict, **wanted: object) -> dict:
    (row,) = [row for row in report["rows"] if all(row[key] == value for key, value in wanted.items())]
    return row


def test_json_counts_over_the_whole_suite(home):
    report = data(home)
    assert report["schema"] == "edgelab.report/1"
    row = row_of(report, device="local", method="import", level=None)
    count = len(SUITE.filter(backend="llvm"))
    assert (row["instances"], row["missing"], row["unstable"]) == (count, count - 2, 1)
    assert (row["csr"]["count"], row["csr"]["total"]) == (2, count)
    assert row["fast"][0]["share"]["count"] == 1
    assert row["geometric_mean"] == {"count": 1, "value": 1.5, "ci95": None}
    assert [total["method"] for total in report["totals"]["physical"]] == ["candidate", "import"]
    assert [total["instances"] for total in report["totals"]["simulated"]] == [
        len(SUITE.filter(backend="cuda"))
    ]


def test_own_tasks_have_a_row_and_infrastructure_is_not_judged(home):
    row = row_of(data(home), device="local", method="import", level=0)
    assert (row["instances"], row["judged"], row["not_judged"]) == (2, 1, 1)
    assert (row["csr"]["share"], row["fcr"]["share"]) == (1.0, 0.0)


def test_a_simulated_board_counts_paired_timings_and_stays_apart(home):
    row = row_of(data(home), device="sim-orin", level=None)
    assert (row["simulated"], row["fast"][1]["share"]["count"]) == (True, 1)


@pytest.mark.parametrize(
    ("args", "devices"),
    [
        (["--device", "sim-orin"], {"sim-orin"}),
        (["--backend", "llvm"], {"local"}),
        (["--level", "3"], {"local"}),
        (["--device", "local", "--device", "sim-orin"], {"local", "sim-orin"}),
        (["--since", "1970-01-01 00:00:00+00:00"], {"local", "sim-orin"}),
        (["--since", "7d"], set()),
        (["--task", "squeezenet*"], {"local"}),
    ],
)
def test_filters(home, args, devices):
    assert {row["device"] for row in data(home, *args)["rows"]} == devices


def test_the_glob_narrows_what_is_wanted(home):
    row = row_of(data(home, "--task", "softmax_attn_deit", "--device", "local"), method="candidate")
    assert (row["instances"], row["missing"], row["fcr"]["share"]) == (1, 0, 1.0)


def test_the_table_keeps_simulated_apart_and_shows_nothing_raw(home):
    done = call(home)
    physical, simulated = done.stdout.split("Simulated boards")
    assert "sim-orin" not in physical
    assert "not measured on the board" in simulated
    assert "1.50×" in physical
    listed = call(home, "--instances").stdout
    assert "missing" in listed
    assert "not judged" in listed
    assert "\x1b" not in listed


def test_csv_has_a_line_a_row_and_a_line_an_instance(home):
    report = data(home)
    rows = list(csv.DictReader(io.StringIO(call(home, "--format", "csv").stdout)))
    assert [row["scope"] for row in rows].count("row") == len(report["rows"])
    assert [row["scope"] for row in rows].count("total") == 3
    instances = list(csv.DictReader(io.StringIO(call(home, "--format", "csv", "--instances").stdout)))
    assert len(instances) == len(report["instances"])
    assert {row["task"] for row in instances} >= {"own_task", visible(HOSTILE)}


def test_two_runs_side_by_side(home):
    report = data(home, "--compare", "aaaaa", "bbbbb")
    (row,) = report["comparison"]["rows"]
    assert (row["task"], row["ratio"], row["change"]) == ("softmax_attn_deit", 2.0, "")
    assert row["ratio_ci95"][0] < 2.0 < row["ratio_ci95"][1]
    text = call(home, "--compare", "aaaaa", "bbbbb").stdout
    assert "2.00×" in text
    assert "both ok" in text
    (line,) = csv.DictReader(io.StringIO(call(home, "--compare", "aaaaa", "bbbbb", "--format", "csv").stdout))
    assert line["ratio"] == "2.0"


def test_two_runs_of_different_tasks_are_a_row_each(home):
    text = call(home, "--compare", "aaaaa", "ccccc").stdout
    assert "ok → missing" in text
    assert "missing → unstable" in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--compare", "aaaaa", "zzzzz"], "no run 'zzzzz'"),
        (["--compare", "aaaaa", "bbbbb", "--device", "local"], "Leave the filters"),
        (["--json", "--format", "csv"], "two formats"),
        (["--compare", "aaaaa", "261201-aaaaa"], "Both names are run 261201-aaaaa"),
        (["--format", "html", "--instances"], "Leave --instances out"),
        (["--since", "yesterday-ish"], "is no date"),
        (["--level", "4"], "4"),
        (["--output", "/proc/none/report.html"], "Cannot write /proc/none/report.html"),
    ],
)
def test_usage_errors(home, args, said):
    done = call(home, *args)
    assert done.exit_code == ExitCode.USAGE
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_without_a_verdict_cannot_be_compared(home):
    with StoreWriter(home / "edgelab.db") as writer:
        writer.create_run(a_run("261201-under-way"))
    done = call(home, "--compare", "aaaaa", "under")
    assert done.exit_code == ExitCode.USAGE
    assert "has no verdict yet" in done.stderr
    assert "runs attach 261201-under-way" in done.stderr


def test_errors_are_objects_too_with_json(home):
    done = call(home, "--json", "--compare", "aaaaa", "zzzzz")
    assert done.exit_code == ExitCode.USAGE
    report = msgspec.json.decode(done.stdout)
    assert report["schema"] == "edgelab.report/1"
    assert "zzzzz" in report["error"]["message"]


def test_a_home_without_results_says_how_to_begin_and_creates_nothing(tmp_path):
    done = call(tmp_path / "new")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "edgelab run TASK" in done.stderr
    assert not (tmp_path / "new").exists()
    assert data(tmp_path / "new")["rows"] == []


def test_a_damaged_store_is_one_message(tmp_path):
    (tmp_path / "edgelab.db").write_bytes(b"not a database" * 400)
    done = call(tmp_path)
    assert done.exit_code == ExitCode.NOT_READY
    assert "edgelab.db" in done.stderr


def test_output_goes_to_the_file_and_its_name_to_stderr(home, tmp_path):
    path = tmp_path / "report.csv"
    done = call(home, "--format", "csv", "--output", str(path))
    assert (done.exit_code, done.stdout) == (0, "")
    assert str(path) in done.stderr
    assert path.read_text().startswith("scope,")


def test_html_goes_to_a_file_whole(home, tmp_path):
    path = tmp_path / "report.html"
    done = call(home, "--format", "html", "--output", str(path))
    assert done.exit_code == 0
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert text.endswith("</html>\n")
    assert call(home, "--format", "html").stdout.startswith("<!doctype html>")
