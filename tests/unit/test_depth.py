"""One variable says how many random cases tests draw."""

from __future__ import annotations

import pytest

from tests.depth import VARIABLE, examples


def test_without_the_variable_a_test_draws_its_own_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert examples(7) == 7


@pytest.mark.parametrize(("factor", "drawn"), [("100", 700), ("1.5", 10), ("0.01", 1)])
def test_the_variable_multiplies_it(factor: str, drawn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, factor)
    assert examples(7) == drawn


@pytest.mark.parametrize("text", ["", "many", "0", "-1", "nan", "inf"])
def test_what_is_no_positive_number_is_one_clear_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(pytest.UsageError, match=f"DVS_DEPTH is {text!r}; write a positive number"):
        examples(7)
