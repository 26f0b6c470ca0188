"""How much memory the processes of a container may take: what it may use, not what its host has."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.cli.histories.check import memory_of
from campaign.machine import memory_of_machine


@pytest.mark.parametrize(("told", "bytes_of"), [("134217728\n", 2**27), ("1\n", 1)])
def test_a_container_has_what_it_may_use(told: str, bytes_of: int, tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text(told, encoding="ascii")
    assert memory_of_machine(limit) == bytes_of < memory_of_machine(tmp_path / "no file")


def test_a_machine_without_a_limit_has_what_is_built_in(tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text("max\n", encoding="ascii")
    assert memory_of_machine(limit) == memory_of_machine(tmp_path / "no file") > 2**28


def test_a_history_may_take_half_of_it() -> None:
    assert memory_of(None) == memory_of_machine() // 2
    assert memory_of(1.5) == 3 * 2**29
