"""Functions of one's own: how they are written, found, told apart, and kept in the journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynamic_tables.errors import DefinitionError
from dynamic_tables.journal.events import FunctionDefined, FunctionDropped, from_json, to_json
from dynamic_tables.journal.state import Operations
from dynamic_tables.own_functions import (
    OwnFunction,
    called,
    changed_functions,
    created_by,
    loaded,
    marks,
    python_function,
    takes_series,
)
from dynamic_tables.refresh.action import decide
from dynamic_tables.store.port import Action
from dynamic_tables.store.spark.spark_errors import one_line
from dynamic_tables.versions import Frontier

BAND = python_function("band", "shopfunctions:band", "STRING", immutable=True)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a module on the path, with the function `band`."""
    file = tmp_path / "shopfunctions.py"
    file.write_text("LIMIT = 10\n\ndef band(value):\n    return value > LIMIT\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return file


def written(text: str) -> OwnFunction:
    return created_by(text)[0]


def test_a_sql_function_has_parameters_type_and_expression() -> None:
    function, replaces = created_by(
        "create or replace function Both(x DECIMAL(10,2), y STRING DEFAULT 'a')\n"
        "RETURNS STRING RETURN concat(y, x);"
    )
    assert replaces
    assert function.statement == (
        "CREATE OR REPLACE TEMPORARY FUNCTION both(x DECIMAL(10,2), y STRING DEFAULT 'a') "
        "RETURNS STRING RETURN concat(y, x)"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE FUNCTION f", "write CREATE"),
        ("CREATE FUNCTION f(x INT) RETURN x", "write CREATE"),
        ("CREATE FUNCTION f(x INT RETURNS INT RETURN x", "write CREATE"),
        ("CREATE FUNCTION f(x INT) RETURNS INT RETURN 'x", "write CREATE"),
        ("CREATE FUNCTION `a b`(x INT) RETURNS INT RETURN x", "no name"),
        ("CREATE FUNCTION f(x INT) RETURNS DOUBLE RETURN rand()", "rand is refused"),
        ("CREATE FUNCTION f(x INT) RETURNS INT RETURN (SELECT MAX(a) FROM t)", "reads tables"),
        ("CREATE FUNCTION f(x INT) RETURNS INT RETURN (SELECT 1)", "reads tables"),
        ("CREATE FUNCTION f(x INT) RETURNS INT RETURN 1; DROP TABLE t", "one SELECT"),
    ],
)
def test_a_sql_function_that_is_refused(text: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        created_by(text)


def test_a_query_depends_on_functions_inside_functions() -> None:
    functions = {
        "plus": written("CREATE FUNCTION plus(x INT) RETURNS INT RETURN x + 1"),
        "doubled": written("CREATE FUNCTION doubled(x INT) RETURNS INT RETURN plus(x) * 2"),
        "other": written("CREATE FUNCTION other(x INT) RETURNS INT RETURN x"),
    }
    found = called(functions, ("SELECT DOUBLED(a) FROM r", "SELECT a FROM s"))
    assert [each.name for each in found] == ["plus", "doubled"]
    functions["plus"] = written("CREATE FUNCTION plus(x INT) RETURNS INT RETURN doubled(x)")
    with pytest.raises(DefinitionError, match="doubled is defined by itself: doubled -> plus -> doubled"):
        called(functions, ("SELECT doubled(a) FROM r",))


def test_a_function_is_run_from_the_source_that_is_there_now(module: Path) -> None:
    first = loaded(BAND)
    assert first.call is not None
    assert first.call(11) is True
    assert loaded(BAND).digest == first.digest
    # What the function reads counts, too: its own lines are the same.
    module.write_text(module.read_text().replace("LIMIT = 10", "LIMIT = 99"))
    second = loaded(BAND)
    assert second.call is not None
    assert second.call(11) is False
    assert second.digest != first.digest


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            None,
            "band is registered as shopfunctions:band, and there is no module shopfunctions",
        ),
        ("other = 1", "module shopfunctions|has no function band"),
        ("import no_such_module_of_test", "ModuleNotFoundError"),
        ("def band(:", "SyntaxError"),
    ],
)
def test_a_function_that_is_gone_is_one_line(module: Path, source: str | None, message: str) -> None:
    module.unlink() if source is None else module.write_text(source)
    with pytest.raises(DefinitionError, match=message) as error:
        loaded(BAND)
    assert "\n" not in str(error.value)


def test_a_reference_is_a_module_and_a_function() -> None:
    with pytest.raises(DefinitionError, match="write 'module:function'"):
        python_function("f", "shop.band", "INT", immutable=True)


def test_series_are_told_by_the_types_of_parameters() -> None:
    def plain(x: int) -> int:
        return x

    def vectorized(x: pd.Series) -> pd.Series:  # type: ignore[name-defined]  # noqa: F821
        return x

    assert not takes_series(plain)
    assert takes_series(vectorized)


def test_a_changed_function_is_the_reason_to_write_a_table_anew(module: Path) -> None:
    before = f"0123{marks((loaded(BAND),))}"
    module.write_text("def band(value):\n    return None\n")
    after = f"0123{marks((loaded(BAND),))}"
    assert changed_functions(before, after) == ("band",)
    assert changed_functions(before, after.replace("0123", "4567")) == ()
    assert changed_functions(before, before) == ()
    frontiers = (Frontier(1, {}, before), Frontier(2, {}, after))
    action = decide(*frontiers, incremental=True, readable=lambda *_: True)
    assert action == (Action.REINITIALIZE, "function band changed")


def test_the_journal_keeps_functions() -> None:
    defined = FunctionDefined(
        at=1, name="f", sql=True, parameters="x INT", body="x", returns="INT", immutable=True, digest="0"
    )
    state = Operations()
    state.apply(from_json(to_json(defined)))
    assert Operations.from_json(state.to_json()).functions == {"f": defined}
    state.apply(FunctionDropped(at=2, name="f"))
    assert state.functions == {}


def test_what_a_function_raised_is_one_line() -> None:
    frames = "Traceback (most recent call last):\n  File 'a.py', line 1\n    f(x)\n"
    text = f"An exception was thrown.\n{frames}ValueError: no band\n"
    assert one_line(RuntimeError(text)) == "RuntimeError: ValueError: no band"
