from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.worker.protocol import (
    MAX_LINE_BYTES,
    LineSplitter,
    MalformedRequest,
    Request,
    encode_event,
    parse_request,
)


@given(st.lists(st.binary(max_size=50).map(lambda line: line.replace(b"\n", b""))), st.integers(1, 7))
def test_lines_survive_any_cutting(lines: list[bytes], step: int):
    stream = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter()
    found = [line for i in range(0, len(stream), step) for line in splitter.feed(stream[i : i + step])]
    assert found == lines


def test_a_line_that_is_too_long_is_skipped_in_bounded_memory():
    splitter = LineSplitter()
    chunk = b"x" * 65536
    for _ in range(3 * MAX_LINE_BYTES // len(chunk)):
        assert list(splitter.feed(chunk)) == []
        assert len(splitter._buffer) <= MAX_LINE_BYTES + len(chunk)
    assert list(splitter.feed(b"end\nnext\n")) == [None, b"next"]


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_malformed(line: bytes):
    try:
        request = parse_request(line)
    except MalformedRequest:
        return
    assert request.id > 0


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_any_json_is_a_request_or_malformed(value: object):
    with contextlib.suppress(MalformedRequest):
        assert parse_request(json.dumps(value).encode()).id > 0


def test_deeply_nested_json_is_malformed():
    with pytest.raises(MalformedRequest):
        parse_request(b"[" * 100_000)


def test_the_id_is_kept_where_it_can_be_read():
    with pytest.raises(MalformedRequest) as caught:
        parse_request(b'{"id": 4, "op": 5}')
    assert caught.value.request_id == 4
    with pytest.raises(MalformedRequest):
        parse_request(b'{"id": true, "op": "hello"}')


@pytest.mark.parametrize("value", [None, True, "1", -1, 1.5, float("inf"), 10**400, []])
def test_fields_are_checked(value: object):
    request = Request(1, "op", {"x": value})
    with pytest.raises(MalformedRequest):
        request.whole("x", 0, 5)
    if value != 1.5:
        with pytest.raises(MalformedRequest):
            request.number("x")
    with pytest.raises(MalformedRequest):
        Request(1, "op", {"x": [value]}).text("x")


def test_events_are_one_line_and_strict_json():
    line = encode_event(3, "done", {"text": "a\nb", "value": 1.5})
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"id": 3, "event": "done", "text": "a\nb", "value": 1.5}
    with pytest.raises(ValueError, match="JSON"):
        encode_event(3, "done", {"value": float("nan")})
