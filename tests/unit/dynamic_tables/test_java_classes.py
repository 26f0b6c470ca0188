"""Classes of the JVM are asked for by their full names: each prefix would be searched for in all jars."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dynamic_tables.store.spark.java_classes import java_class

ROOT = Path(__file__).resolve().parents[3]
SPELT = re.compile(r"\b_?jvm\.(?:org|io|java|scala)\.\w+")


class Jvm:
    """A view of a JVM that notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> str:
        self.asked.append(name)
        return name


def test_a_class_is_one_question() -> None:
    jvm = Jvm()
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(_jvm=jvm))
    assert java_class(session, "org.apache.hadoop.fs.Path") == "org.apache.hadoop.fs.Path"
    assert jvm.asked == ["org.apache.hadoop.fs.Path"]


def test_no_class_is_spelt_by_its_packages() -> None:
    files = [
        file for room in ("dynamic_tables", "protocols", "engines") for file in (ROOT / room).rglob("*.py")
    ]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(files) > 200
    assert [line for line in lines if SPELT.search(line) and "`" not in line] == []
