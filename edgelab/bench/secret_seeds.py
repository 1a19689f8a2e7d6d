"""Seeds that a candidate's author cannot know: derived from the home's secret.

Announced seeds can be sniffed: a program that recognises the timing inputs may skip its work on them. The
seeds of one home and task stay the same, so references are still computed once.
"""

from __future__ import annotations

import hashlib

import msgspec

_SEED_LIMIT = 2**31 - 1


class SecretSeeds(msgspec.Struct, frozen=True):
    """Seeds of what only the evaluation knows.

    `timing` are the inputs that are timed in turn; the last are a near twin of the first. `recheck` are those
    on which outputs are checked again afterwards, `hidden` those that become the hidden cases.
    """

    timing: tuple[int, int, int]
    recheck: int
    hidden: int

    @classmethod
    def derive(cls, secret: bytes, task_digest: str) -> SecretSeeds:
        """Derive all for a task (digest of its source and constants). Raises ValueError without a secret."""
        if not secret:
            raise ValueError("the home's secret is empty")
        first, second, twin, recheck, hidden = (_seed(secret, task_digest, purpose) for purpose in _PURPOSES)
        return cls((first, second, twin), recheck, hidden)


_PURPOSES = ("timing", "timing second", "timing twin", "recheck", "hidden")


def _seed(secret: bytes, task_digest: str, purpose: str) -> int:
    mixed = hashlib.blake2b(f"{purpose}:{task_digest}".encode(), key=secret, digest_size=8).digest()
    # The first thousand are left to announced seeds.
    return 1000 + int.from_bytes(mixed, "big") % (_SEED_LIMIT - 1000)
