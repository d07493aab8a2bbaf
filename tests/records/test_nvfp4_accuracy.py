"""Records of encoders to NVFP4: today's models give them, and the document has the table."""

import json

import nvfp4_accuracy

RECORD = json.loads(nvfp4_accuracy.KEPT.read_text())


def test_the_record_is_that_of_the_models():
    assert nvfp4_accuracy.measured() == RECORD


def test_the_document_has_the_table():
    page = nvfp4_accuracy.PAGE.read_text()
    assert nvfp4_accuracy.rendered(page, RECORD) == page
