"""Tables that can only be refreshed in full because of columns of nested types."""

from __future__ import annotations

from tests.ir import columns, named, select, table
from workload.nested import only_in_full
from workload.query import Query
from workload.scenario import Definition, DynamicTable, RefreshMode, View
from workload.types import INT, STRING, SqlType, array_of, map_of, struct_of

ARRAY, MAP = array_of(INT), map_of(STRING, INT)


def copy(name: str, type_: SqlType) -> Query:
    return select({"x": columns(table(name, x=type_))["x"]}, named(name))


def judged(query: Query, types: dict[str, SqlType], *definitions: Definition) -> bool:
    return only_in_full(query, {each.name: each for each in definitions}, lambda name: [types[name]])


def test_arrays_of_base_tables_are_captured_by_row_ids() -> None:
    assert not judged(copy("r", ARRAY), {"r": ARRAY})


def test_maps_of_base_tables_are_captured_by_their_pairs() -> None:
    assert not judged(copy("r", MAP), {"r": MAP})
    assert not judged(copy("v", MAP), {"r": MAP, "v": MAP}, View("v", copy("r", MAP)))
    assert not judged(copy("d", MAP), {"r": MAP, "d": MAP}, DynamicTable("d", copy("r", MAP)))


def test_maps_inside_other_values_are_not_captured() -> None:
    for inside in (struct_of(a=array_of(MAP)), map_of(STRING, MAP)):
        assert judged(copy("r", inside), {"r": inside})
        view = View("v", copy("r", inside))
        assert judged(copy("v", INT), {"r": inside, "v": INT}, view)


def test_a_table_refreshed_in_full_has_no_ids() -> None:
    """They are made of its values, if a row id can hold these."""
    full = DynamicTable("d", copy("r", MAP), RefreshMode.FULL)
    assert judged(copy("d", MAP), {"r": MAP, "d": MAP}, full)
    assert not judged(copy("d", MAP), {"r": MAP, "d": MAP}, DynamicTable("d", copy("r", MAP)))
    for held in (ARRAY, struct_of(a=INT, b=ARRAY), INT):
        assert not judged(
            copy("d", held), {"r": held, "d": held}, DynamicTable("d", copy("r", held), full.mode)
        )
