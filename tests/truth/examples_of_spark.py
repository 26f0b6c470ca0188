"""The examples that Spark's documentation has of its functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession


def all_examples(session: SparkSession) -> Sequence[tuple[str, str]]:
    """Returns every example with the name of its function, as a query."""
    return [
        (name, text)
        for name, told in _told(session)
        for text in re.findall(r">\s+(SELECT .*?);\s*$", told, re.MULTILINE | re.DOTALL)
    ]


def examples(session: SparkSession) -> Mapping[str, str]:
    """Returns by function what stands after SELECT in its first example, in the order of names.

    Spark describes inline, explode and posexplode now as an expression and now as a relation: here they are
    expressions.
    """
    found: dict[str, str] = {}
    for name, told in _told(session):
        first = re.search(r"> SELECT (.*?);\s*$", told, re.MULTILINE | re.DOTALL)
        if first is not None:
            found[name] = re.sub(r"^\* FROM (?=inline|explode|posexplode)", "", first[1])
    return dict(sorted(found.items()))


def _told(session: SparkSession) -> Iterator[tuple[str, str]]:
    """Yields the name of each function and the text of its examples."""
    jvm: Any = session._jvm
    for info in jvm.org.apache.spark.sql.api.python.PythonSQLUtils.listBuiltinFunctionInfos():
        yield str(info.getName()), str(info.getExamples())
