"""The HTML page: one file, escaped, balanced, physical and simulated apart."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from edgelab.bench.report.instances import ReportRequest
from edgelab.bench.report.page import page
from edgelab.bench.report.view import ReportView, read_comparison, read_report
from edgelab.bench.tasks import Catalogue, catalogue_root
from tests.support.report_store import HOSTILE, fill

SPECS = Catalogue.load(catalogue_root()).specs
VOID = {"meta", "br", "hr", "img", "link", "input"}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    fill(tmp_path / "edgelab.db")
    return tmp_path / "edgelab.db"


class Reading(HTMLParser):
    """Collects tags and attributes, and fails on a tag that is closed out of order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.said: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.said.append(data.strip())


def test_the_page_is_one_balanced_file_without_scripts_or_links(database):
    text = page(read_report(database, SPECS, ReportRequest(), 1.76e9))
    found = Reading(text)
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(found.tags)
    assert not [name for name, _ in found.attributes if name in ("src", "href") or name.startswith("on")]
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    # Speed-ups of local's two methods and of the board, a curve and a front for both kinds, failures of local.
    assert found.tags.count("svg") == 3 + 2 + 2 + 1


def test_texts_of_strangers_stay_texts(database):
    text = page(read_report(database, SPECS, ReportRequest(task="<b>*", devices=(HOSTILE,)), 1.76e9))
    assert "<b>" not in text
    text = page(read_report(database, SPECS, ReportRequest(), 1.76e9))
    assert "<script" not in text
    assert "\x1b" not in text
    assert "&lt;script&gt;" in text
    assert "default-src 'none'" in text


def test_simulated_boards_are_plainly_marked_and_apart(database):
    text = page(read_report(database, SPECS, ReportRequest(), 1.76e9))
    physical, simulated = text.split('<section class="simulated">')
    assert "sim-orin" not in physical
    assert "not measured on the board" in simulated
    assert "Fast@p by backend (simulated)" in simulated


def test_numbers_have_units(database):
    said = Reading(page(read_report(database, SPECS, ReportRequest(), 1.76e9))).said
    assert {"1.50×", "100.0 µs", "1.0 MiB", "3.00×"} <= set(said)


def test_a_report_without_results_says_so():
    text = page(ReportView(made_s=1.76e9))
    Reading(text)
    assert "No result yet" in text
    assert "<section class" not in text


def test_filters_are_named(database):
    text = page(read_report(database, SPECS, ReportRequest(devices=("local",), levels=(1,)), 1.76e9))
    assert "device local; level L1." in " ".join(text.split())


def test_a_comparison_is_a_page_too(database):
    text = page(read_comparison(database, SPECS, "aaaaa", "bbbbb", 1.76e9))
    said = Reading(text).said
    assert {"261201-aaaaa", "261201-bbbbb", "2.00×", "both ok"} <= set(said)
    assert "Two runs side by side" in text
