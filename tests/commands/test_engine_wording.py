"""How engines and their verdicts read."""

from __future__ import annotations

import msgspec

from edgelab.bench.engines.registry import find_engine
from edgelab.bench.engines.result import EngineBaseline, EngineResult, SideLatency, SideVariation
from edgelab.commands.engine_wording import available_line, engine_result_text
from tests.support.engines import absent

MEASURED = EngineResult(
    task="softmax",
    engine="onnxruntime",
    version="1.32.0",
    verdict="ok",
    baseline=EngineBaseline("plain", "0.27.0", "b" * 64),
    threads=2,
    latency_s=SideLatency(2e-4, 1e-4),
    baseline_speedup=2.0,
    baseline_speedup_ci95=(1.98, 2.03),
    quality="paired",
    rcv=SideVariation(0.06, 0.07, 0.02),
    pairs=100,
    calls_per_block=5,
    prepare_s=1.5,
    settings={"threads": "2", "provider": "CPUExecutionProvider"},
)


def test_a_measured_engine_has_all_its_numbers_with_units():
    assert engine_result_text(MEASURED).splitlines() == [
        "OK            softmax: onnxruntime 1.32.0 against TVM plain 0.27.0",
        "speed-up      TVM plain is 2.00× as fast as onnxruntime, 95 % interval [1.98, 2.03]",
        "latency       200.0 µs onnxruntime, 100.0 µs TVM plain",
        "rCV           6.0 % onnxruntime, 7.0 % TVM plain, 2.0 % speed-up",
        "quality       paired, 100 pairs, calls a block: 5",
        "threads       2 on both sides",
        "settings      provider CPUExecutionProvider; prepared in 1.5 s",
    ]


def test_a_refusal_has_its_reason_and_advice_and_no_numbers():
    refused = EngineResult(
        task="qr", engine="mnn", version="3.6.1", verdict="unsupported", reason="no\x1b[31m operator",
        advice="Leave it out.", baseline=EngineBaseline("torch", "2.13.0"),
    )  # fmt: skip
    assert engine_result_text(refused).splitlines() == [
        "UNSUPPORTED   qr: mnn 3.6.1 against torch 2.13.0",
        "reason        no␛[31m operator",
        "advice        Leave it out.",
    ]


def test_an_engine_that_is_here_shows_its_version_and_a_missing_one_the_reason():
    torch = find_engine("torch")
    assert torch.available().version in available_line(torch)
    assert available_line(absent()).endswith("not installed: edgelab-no-such. pip install 'edgelab[engines]'")


def test_results_encode_as_json():
    decoded = msgspec.json.decode(msgspec.json.encode(MEASURED))
    assert decoded["latency_s"] == {"engine": 2e-4, "baseline": 1e-4}
    assert decoded["baseline_speedup_ci95"] == [1.98, 2.03]
