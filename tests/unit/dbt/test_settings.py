"""What users say of models and sources: in `meta: dvs`, in a TOML file, by tests. Mistakes are one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from campaign.dbt.project import Source, read_model, read_project, read_settings, read_source
from campaign.errors import CampaignError

NODE = {
    "id": "model.shop.m",
    "name": "m",
    "file": "models/m.sql",
    "kind": "model",
    "relation": "m",
    "select": "fqn:shop.m",
    "parents": [],
    "config": {},
    "outside": False,
}
TABLE = {
    "columns": [{"name": name, "type": "INTEGER", "required": False} for name in ("Id", "Line", "At")],
    "keys": [],
    "foreign": [],
    "checks": [],
}


def source(meta: Any = None, of_user: Any = None, *tests: dict[str, Any]) -> Source:
    """A source with a table of three columns, and what is said of it."""
    each = {"id": "source.raw.t", "name": "raw.t", "relation": "raw.t", "meta": {"dvs": meta}}
    return read_source(each, TABLE, {}, tests, {"raw.t": of_user or {}})


@pytest.mark.parametrize("ignored", ["Loaded_At", ["Loaded_At"]])
def test_one_column_needs_no_list(ignored: object) -> None:
    """A text was read as the list of its letters, and the column was compared."""
    found = read_model({**NODE, "meta": {"dvs": {"ignore": ignored}}}, {}, None)
    assert found.ignored == {"loaded_at"}
    assert source({"key": "ID"}).keys == (("Id",),)


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        (["append_only"], "m.sql: model m: `dvs` is ['append_only']; write dvs: {promises: ..}, it knows"),
        ({"ignored": ["a"]}, "`dvs` has 'ignored'; it knows `promises` and `ignore`"),
        ({"ignore": 3}, "3 names no columns; write [id] or [id, line]"),
    ],
)
def test_mistakes_in_a_model(meta: object, said: str) -> None:
    with pytest.raises(CampaignError) as raised:
        read_model({**NODE, "meta": {"dvs": meta}}, {}, None)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("meta", "of_user", "said"),
    [
        ("at", {}, "source raw.t: `dvs` is 'at'; write dvs: {clock: ..}"),
        ({}, {"clok": "at"}, "source raw.t: `dvs` has 'clok'; it knows `clock` and `key`"),
        ({"key": 1}, {}, "source raw.t: 1 names no columns"),
    ],
)
def test_mistakes_in_a_source(meta: object, of_user: object, said: str) -> None:
    with pytest.raises(CampaignError) as raised:
        source(meta, of_user)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models = 1", "models = 1 is no table; write [models.NAME] and lines below it"),
        ("[models]\nm = 'append_only'", "m = 'append_only' is no table; write [models.m] and lines below it"),
        ("[modles.m]", "'modles' is unknown"),
    ],
)
def test_mistakes_in_a_file(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "promises.toml").write_text(text)
    with pytest.raises(CampaignError) as raised:
        read_settings(tmp_path / "promises.toml")
    assert said in str(raised.value)


def test_tests_of_a_source_are_its_keys() -> None:
    """Of one column, and of several, as the package dbt_utils tests them."""

    def test(name: str, **arguments: object) -> dict[str, Any]:
        return {"name": name, "parents": ["source.raw.t"], "arguments": arguments}

    several = test("unique_combination_of_columns", combination_of_columns=["id", '"LINE"'])
    found = source(None, None, several, test("not_null", column_name="at"), test("unique", column_name="id"))
    assert found.keys == (("Id", "Line"), ("Id",))
    assert found.column("At").required
    unknown = test("unique_combination_of_columns", combination_of_columns=["id", "lower(line)"])
    assert source(None, None, unknown).keys == ()


@pytest.mark.parametrize(("nodes", "said"), [([], "no model or snapshot"), ([NODE], "check --select")])
def test_a_project_without_models_is_no_mistake_of_the_selection(nodes: list[Any], said: str) -> None:
    answer = {"nodes": [{**node, "meta": {}} for node in nodes], "tests": [], "selected": []}
    with pytest.raises(CampaignError, match=said):
        read_project(answer, {})
