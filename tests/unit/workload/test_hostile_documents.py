"""Whatever stands in a file: a scenario, or a WorkloadError that names the place. Nothing else gets out."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.depth import examples
from tests.unit.workload.shop import SHOP
from workload.codec import scenario_from_json, scenario_to_json
from workload.errors import WorkloadError
from workload.scenario import Scenario
from workload.sql import Dialect, render_query
from workload.wellformed import check_scenario

TEXT = scenario_to_json(SHOP)
DOCUMENT: dict[str, Any] = json.loads(TEXT)
Path = tuple[str | int, ...]


def paths(data: Any, here: Path = ()) -> list[Path]:
    """Every place of a JSON value, outside in."""
    places = [here]
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, child in children:
        places += paths(child, (*here, key))
    return places


PLACES = [path for path in paths(DOCUMENT) if path]
SCENARIO_PLACES = [path for path in PLACES if path[0] == "scenario"]


def parent_of(document: Any, path: Path) -> Any:
    """The container of the last step of a path."""
    for step in path[:-1]:
        document = document[step]
    return document


def replaced(path: Path, value: Any) -> str:
    """The shop's text with another value at a place."""
    document = copy.deepcopy(DOCUMENT)
    parent_of(document, path)[path[-1]] = value
    return json.dumps(document)


def removed(path: Path) -> str:
    """The shop's text without a place."""
    document = copy.deepcopy(DOCUMENT)
    del parent_of(document, path)[path[-1]]
    return json.dumps(document)


def read(text: str) -> Scenario | None:
    """The scenario after all checks, fit to be rendered; None where it was refused with a WorkloadError."""
    try:
        scenario = scenario_from_json(text)
        check_scenario(scenario)
    except WorkloadError:
        return None
    for definition in scenario.definitions:
        # The other dialects have no text for some queries, and say so.
        for dialect in (Dialect.SPARK, Dialect.DUCKDB):
            render_query(definition.query, dialect).encode()
    return scenario


def refusal(text: str) -> str:
    """The message of the WorkloadError that reading gives."""
    with pytest.raises(WorkloadError) as caught:
        scenario_from_json(text)
    return str(caught.value)


TELLING_WORDS = ["ColumnRef", "Literal", "Select", "DECIMAL(99,1)", "INT", "spending", "purchase", "case"]
TELLING_KEYS = ["is", "double", "decimal", "date", "timestamp", "x"]

anything: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=5),
        st.sampled_from(TELLING_WORDS),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(TELLING_KEYS), inner, max_size=2),
    ),
    max_leaves=4,
)


@settings(max_examples=examples(200))
@given(st.sampled_from(PLACES), anything)
def test_any_value_at_any_place(path: Path, value: Any) -> None:
    read(replaced(path, value))


@given(st.sampled_from(PLACES))
def test_any_place_missing(path: Path) -> None:
    read(removed(path))


@settings(max_examples=examples(200))
@given(st.sampled_from(SCENARIO_PLACES), st.sampled_from(SCENARIO_PLACES))
def test_any_place_moved_to_any_other(source: Path, target: Path) -> None:
    read(replaced(target, parent_of(DOCUMENT, source)[source[-1]]))


@given(st.integers(0, len(TEXT) - 3))
def test_a_text_cut_short_says_so(length: int) -> None:
    assert "cut short" in refusal(TEXT[:length])


@given(st.integers(0, len(TEXT)), st.text(max_size=3))
def test_any_text_inserted(position: int, inserted: str) -> None:
    read(TEXT[:position] + inserted + TEXT[position:])


@given(st.text())
def test_any_text_at_all(text: str) -> None:
    assert read(text) is None


def place(text: str) -> Path:
    """The path that a message writes as `scenario.steps[0].at`."""
    return tuple(int(part) if part.isdigit() else part for part in re.findall(r"\w+", text))


TABLE = "scenario.tables[0]"
TYPE = "scenario.tables[0].columns[0].type"
DEFINITION = "scenario.definitions[1]"
FUNCTION = "scenario.definitions[6].query.items[3].expr.function"
VALUE = "scenario.steps[0].statements[0].rows[0][0]"


@pytest.mark.parametrize(
    ("at", "value", "complaint"),
    [
        ("scenario", None, "expected Scenario, found 'null'"),
        ("scenario.name", 3, "expected str, found int"),
        ("scenario.tables", {}, "expected a list, found an object"),
        (TABLE, {"is": "View"}, "expected Table, found 'View'"),
        (TABLE, {"is": ["Table"]}, "expected Table, found ['Table']"),
        (TABLE, {"is": "Table", "name": "x"}, "Table lacks 'columns'"),
        (TABLE, {"is": "Table", "name": "x", "columns": [], "color": 1}, "Table has no field 'color'"),
        (TYPE, "TEXT", "unknown type 'TEXT'"),
        (TYPE, 7, "expected a type, found int"),
        (TYPE, "DECIMAL(39,0)", "no such type"),
        (TYPE, f"DECIMAL({'9' * 5000},0)", ""),
        (f"{DEFINITION}.mode", "OFTEN", "expected one of AUTO, FULL, INCREMENTAL, found 'OFTEN'"),
        (f"{DEFINITION}.target_lag", "1s", "expected int, found a string"),
        (f"{DEFINITION}.target_lag", True, "expected int, found bool"),
        (
            f"{DEFINITION}.query",
            None,
            "expected Select or UnionAll or Union or ExceptAll or Except or ",
        ),
        (
            "scenario.steps[0]",
            {"is": "Literal"},
            "expected Commit or Create or Drop or Redefine or Refresh or Read, found 'Literal'",
        ),
        ("scenario.steps[0].at", 1.0, "expected int, found float"),
        (FUNCTION, [], "expected one of "),
        (FUNCTION, {"is": "x"}, "expected one of "),
        (VALUE, 1.5, "no value: 1.5"),
        (VALUE, {"decimal": "one"}, "no value"),
        (VALUE, {"date": "2024-02-30"}, "no value"),
        (VALUE, {"double": 1}, "no value"),
        (VALUE, {"double": "1", "decimal": "2"}, "no value"),
    ],
)
def test_the_message_names_the_place(at: str, value: Any, complaint: str) -> None:
    assert refusal(replaced(place(at), value)).startswith(f"{at}: {complaint}")


@pytest.mark.parametrize("version", [0, 2, "1", None, True, 1.0, [1]])
def test_another_version_is_refused_with_the_cure(version: Any) -> None:
    assert re.search("version .* generate it again", refusal(replaced(("version",), version)))


NO_SCENARIOS = [
    "",
    "null",
    "[]",
    '"dvs-scenario"',
    "{}",
    '{"format": "history"}',
    "NaN",
    "\ufeff{}",
    "1" * 5000,
]


@pytest.mark.parametrize("text", NO_SCENARIOS)
def test_what_is_no_scenario_at_all_says_so(text: str) -> None:
    assert refusal(text).startswith("not a scenario: ")


def test_nesting_without_end_is_refused() -> None:
    assert "not a scenario" in refusal("[" * 100_000)
    condition: Any = {"is": "Literal", "value": True, "type": "BOOLEAN"}
    for _ in range(examples(200)):
        condition = {"is": "Call", "function": "not", "args": [condition], "type": "BOOLEAN"}
    assert "nested too deeply" in refusal(replaced(place("scenario.definitions[0].query.where"), condition))
