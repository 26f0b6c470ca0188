"""`dvs dbt` as tests: run pytest here, with DBT_PYTHON naming the Python of your dbt.

The second test fails: rows of orders_window may be three days late, and the model looks back two days.
"""

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SHOP = {"dbt": HERE, "schema": HERE / "schema.sql", "python": os.environ.get("DBT_PYTHON", sys.executable)}


@pytest.mark.dvs(**SHOP, select=["orders_right"], kinds=["appended", "equal_clock"], trials=2)
def test_orders_right() -> None:
    """Rows that come in order."""


@pytest.mark.dvs(**SHOP, select=["orders_window"], kinds=["appended_late"], trials=1)
def test_orders_window() -> None:
    """Rows that are as late as it is promised."""
