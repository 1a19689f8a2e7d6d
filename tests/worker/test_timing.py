from __future__ import annotations

import pytest

from edgelab.worker.channel import Frame, Kind
from edgelab.worker.failures import WorkerFailure
from edgelab.worker.timing import Plan, Series, time_pairs


class FakeClock:
    """Stands for the time module: only a program's work makes it advance."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000

    def perf_counter_ns(self) -> int:
        return self.now_ns

    def monotonic(self) -> float:
        return self.now_ns / 1e9


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    fake = FakeClock()
    monkeypatch.setattr("edgelab.worker.timing.time", fake)
    return fake


class FakeProgram:
    """Answers blocks as a child would: 1 ms a call, 30 us on the way; its readings can lie."""

    def __init__(self, name: str, clock: FakeClock, *, shift_ns: int = 0, hidden_ns: int = 0) -> None:
        self.name, self.clock, self.shift_ns, self.hidden_ns = name, clock, shift_ns, hidden_ns
        self.blocks: list[int] = []
        self.killed = False

    def request(self, kind: Kind, limit_s: float, body: object = None, *, first: int = 0) -> Frame:
        self.blocks.append(first)
        start_ns = self.clock.now_ns + 15_000
        end_ns = start_ns + first * 1_000_000
        self.clock.now_ns = end_ns + 15_000
        return Frame(
            Kind.DONE, first=start_ns + self.shift_ns, second=end_ns + self.shift_ns - self.hidden_ns
        )

    def kill(self) -> None:
        self.killed = True


def plan(**changes: float) -> Plan:
    fields = {"pairs": 3, "calls_per_block": 2, "warm_calls": 1, "first": 0, "time_s": 10.0} | changes
    return Plan(**fields)  # type: ignore[arg-type]


def timed(a: FakeProgram, b: FakeProgram, how: Plan) -> tuple[Series, Series]:
    return time_pairs(a, b, how, lambda pairs: None)  # type: ignore[arg-type]


def order(how: Plan, clock: FakeClock) -> str:
    """Which program worked when, one letter a request."""
    log: list[str] = []
    programs = FakeProgram("a", clock), FakeProgram("b", clock)
    for program in programs:
        program.blocks = _Log(program.name, log)  # type: ignore[assignment]
    timed(*programs, how)
    return " ".join(log)


class _Log(list):
    def __init__(self, name: str, log: list[str]) -> None:
        super().__init__()
        self.name, self.log = name, log

    def append(self, calls: int) -> None:
        self.log.append(f"{self.name}{calls}")


def test_order_flips_each_pair_and_blocks_are_warmed(clock: FakeClock):
    assert order(plan(), clock) == "a1 a2 b1 b2 b1 b2 a1 a2 a1 a2 b1 b2"
    assert order(plan(pairs=2, warm_calls=0, first=1), clock) == "b2 a2 a2 b2"


def test_latency_is_per_call_and_the_workers_own_reading_is_longer(clock: FakeClock):
    a, b = timed(FakeProgram("a", clock), FakeProgram("b", clock), plan())
    assert a.latencies_s == b.latencies_s == [1e-3] * 3
    assert a.child_s == [2e-3] * 3
    assert a.parent_s == pytest.approx([2.03e-3] * 3)


@pytest.mark.parametrize("shift_ns", [-10_000_000, 10_000_000])
def test_clock_readings_outside_of_the_block_are_a_hack(clock: FakeClock, shift_ns: int):
    liar = FakeProgram("liar", clock, shift_ns=shift_ns)
    with pytest.raises(WorkerFailure, match="timer") as caught:
        timed(liar, FakeProgram("b", clock), plan())
    assert (caught.value.failure_class, caught.value.program, liar.killed) == ("hack", "liar", True)


def test_time_that_is_not_reported_shows_in_the_workers_reading(clock: FakeClock):
    a, b = timed(FakeProgram("a", clock), FakeProgram("liar", clock, hidden_ns=400_000), plan(pairs=9))
    assert [seen - said for seen, said in zip(b.parent_s, b.child_s, strict=True)] == pytest.approx(
        [430e-6] * 9
    )
    assert [seen - said for seen, said in zip(a.parent_s, a.child_s, strict=True)] == pytest.approx(
        [30e-6] * 9
    )


def test_pairs_end_with_the_time_but_there_is_at_least_one(clock: FakeClock):
    for time_s, pairs in ((0.0, 1), (0.02, 4), (1.0, 100)):
        a, b = timed(FakeProgram("a", clock), FakeProgram("b", clock), plan(pairs=100, time_s=time_s))
        assert len(a.latencies_s) == len(b.latencies_s) == pairs


def test_progress_is_reported_now_and_then(clock: FakeClock):
    seen: list[int] = []
    a, b = FakeProgram("a", clock), FakeProgram("b", clock)
    time_pairs(a, b, plan(pairs=2000, time_s=60), seen.append)  # type: ignore[arg-type]
    assert seen == sorted(seen)
    assert 10 <= len(seen) <= 13
