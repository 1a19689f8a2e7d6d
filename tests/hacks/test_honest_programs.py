"""Nothing honest is refused, and nothing secret is told."""

from __future__ import annotations

import pytest

from edgelab.bench.hidden_cases import FEWEST_CASES
from edgelab.bench.secret_seeds import SecretSeeds
from edgelab.events import SeedVerified
from tests.hacks.evaluations import SECRET, Evaluations, task_of
from tests.support import candidates

pytestmark = pytest.mark.slow

TASKS = (
    "argmax_vocab_qwen",
    "layernorm_deit",
    "softmax_attn_deit",
    "rmsnorm_prefill_qwen25",
    "channel_shuffle_g2",
    "hardswish_mnv3",
    "conv10x4_s2_kws",
    "imu_resblock1d",
    "anymal_actor_mlp",
    "ad_autoencoder",
    "deit_tiny_mlp",
)


@pytest.mark.parametrize("task", TASKS)
def test_the_plain_lowering_passes(evaluations: Evaluations, task: str) -> None:
    """The baseline against itself: no check may see a difference, and all hidden cases hold."""
    found = evaluations.run(task, None)
    assert evaluations.warnings() == []
    hidden = [event for event in evaluations.events if isinstance(event, SeedVerified) and event.seed is None]
    assert len(hidden) >= FEWEST_CASES + 1
    assert 0.5 < found.series.statistics.speedup < 2


@pytest.mark.parametrize("text", [candidates.GOOD, None], ids=["written kernel", "plain"])
def test_a_right_candidate_passes(evaluations: Evaluations, text: str | None) -> None:
    found = evaluations.run(candidates.TINY, text)
    assert found.series.statistics.pairs >= 20


def test_seeds_and_secret_are_not_told(evaluations: Evaluations) -> None:
    evaluations.run(candidates.TINY, candidates.GOOD)
    seeds = SecretSeeds.derive(SECRET, task_of(candidates.TINY).digest)
    told = evaluations.told()
    for secret in (*seeds.timing, seeds.recheck, seeds.hidden):
        assert str(secret) not in told
