"""The rows of a data frame as an Arrow table, NULLs of type VARIANT included.

`DataFrame.toArrow` fails for these: in its schema the two parts of a VARIANT are never NULL, and Arrow's cast
to it refuses the NULL around them. So a document that holds null is fetched in place of a NULL, with a column
that says where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def arrow_rows(frame: DataFrame) -> pa.Table:
    """Returns all rows of a data frame. Raises as Spark does."""
    import pyarrow as pa

    places = [
        place for place, each in enumerate(frame.schema.fields) if each.dataType.typeName() == "variant"
    ]
    if not places:
        return frame.toArrow()
    names = [f"c{place}" for place in range(len(frame.columns))]
    items = [f"coalesce({c}, parse_json('null'))" if n in places else c for n, c in enumerate(names)]
    missing = [f"{names[place]} IS NULL" for place in places]
    fetched = frame.toDF(*names).selectExpr(*items, *missing).toArrow()
    columns = [*fetched.columns[: len(names)]]
    for place, absent in zip(places, fetched.columns[len(names) :], strict=True):
        values = columns[place].combine_chunks()
        parts = [values.field(number) for number in range(values.type.num_fields)]
        mask = absent.combine_chunks()
        columns[place] = pa.StructArray.from_arrays(parts, fields=list(values.type), mask=mask)
    return pa.table(columns, names=frame.columns)


def holds_nested_variants(frame: DataFrame) -> bool:
    """Tells whether a column holds VARIANTs inside arrays, maps or structs: `arrow_rows` cannot fetch it."""
    from pyspark.sql.types import VariantType

    def holds(type_: object) -> bool:
        return isinstance(type_, VariantType) or any(map(holds, inner(type_)))

    def inner(type_: object) -> list[object]:
        fields = [each.dataType for each in getattr(type_, "fields", ())]
        named = (getattr(type_, name, None) for name in ("elementType", "keyType", "valueType"))
        return [*fields, *(each for each in named if each is not None)]

    return any(any(map(holds, inner(each.dataType))) for each in frame.schema.fields)
