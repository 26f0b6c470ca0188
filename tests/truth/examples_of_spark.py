"""The examples that Spark's documentation has of its functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession


def examples(session: SparkSession) -> Mapping[str, str]:
    """Returns by function what stands after SELECT in its first example, in the order of names.

    Spark describes inline, explode and posexplode now as an expression and now as a relation: here they are
    expressions.
    """
    jvm: Any = session._jvm
    infos = jvm.org.apache.spark.sql.api.python.PythonSQLUtils.listBuiltinFunctionInfos()
    found: dict[str, str] = {}
    for info in infos:
        first = re.search(r"> SELECT (.*?);\s*$", info.getExamples(), re.MULTILINE | re.DOTALL)
        if first is not None:
            found[str(info.getName())] = re.sub(r"^\* FROM (?=inline|explode|posexplode)", "", first[1])
    return dict(sorted(found.items()))
