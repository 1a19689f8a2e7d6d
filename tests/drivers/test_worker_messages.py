from __future__ import annotations

import math

from edgelab.drivers.worker_messages import restore_floats


def test_non_finite_elements_become_floats_again():
    fields = {"got": "nan", "expected": "-inf", "worst": {"got": "inf", "expected": 1}, "message": "nan"}
    restored = restore_floats(fields)
    assert isinstance(restored["got"], float)
    assert math.isnan(restored["got"])
    assert restored["expected"] == -math.inf
    assert restored["worst"] == {"got": math.inf, "expected": 1}
    assert restored["message"] == "nan"
    assert fields["got"] == "nan"
