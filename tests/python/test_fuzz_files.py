"""A slice of `make fuzz-files`."""

import pytest

from tests.python.fuzz_files import FORMATS, fuzz


@pytest.mark.parametrize("form", FORMATS, ids=lambda f: f.name)
def test_broken_files(form):
    answers = fuzz(form, 150, seed=7)
    assert sum(answers.values()) == 150 and answers["errors"] > 50
