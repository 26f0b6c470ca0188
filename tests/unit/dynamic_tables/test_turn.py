"""The turn of a thread at an account."""

from __future__ import annotations

import pytest

from dynamic_tables.turn import Turn


def test_an_operation_begins_once_whatever_it_calls() -> None:
    begun: list[int] = []
    turn = Turn(lambda: begun.append(1))
    with turn, turn:
        pass
    with turn:
        pass
    assert len(begun) == 2


def test_a_beginning_that_fails_keeps_nobody_out() -> None:
    errors = [OSError("no such folder")]

    def begin() -> None:
        if errors:
            raise errors.pop()

    turn = Turn(begin)
    with pytest.raises(OSError, match="no such folder"), turn:
        pass
    with turn:
        assert turn.depth == 1
    assert turn.depth == 0
