"""Errors of NVFP4 encoders on record equal the errors of today's models. `tests/explore` compares the table."""

import json

from parts import nvfp4_accuracy

RECORD = json.loads(nvfp4_accuracy.KEPT.read_text())


def test_the_record_equals_the_models():
    assert nvfp4_accuracy.measured() == RECORD
