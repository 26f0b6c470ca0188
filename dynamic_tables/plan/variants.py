"""What stands for a VARIANT where rows are compared, and its fields as the elements of an array.

Spark neither compares nor groups values of this type. Two are one value here if no function of Spark tells
them apart: their JSON texts are equal, which have the keys of objects in one order, and so are the types of
what is in them, as the texts of 1 and 1.0, and of a date and a string, are the same. A VARIANT that holds
null has the text `null`; a SQL NULL has none.
"""

from __future__ import annotations

LEVELS = 6
"""To this depth of values in values the types of single elements are compared. `schema_of_variant` tells of
an array only one type that fits all of its elements; the fields of objects it tells one by one."""

MERGED = "ARRAY<.*(VARIANT|DECIMAL|DOUBLE|TIMESTAMP)"
"""The schemas in which elements of several types may hide behind one type."""


def canonical(value: str) -> str:
    """Returns Spark's SQL for the text that stands for a VARIANT; NULL for NULL."""
    return f"concat(to_json({value}), ' ', {_types(value, LEVELS)})"


def _types(value: str, levels: int) -> str:
    """Returns SQL for the types in a value, of which the elements of arrays are named one by one."""
    schema = f"schema_of_variant({value})"
    if not levels:
        return schema
    variable = f"`$level{levels}`"
    inner = f"array_join(transform({_inner(value)}, {variable} -> {_types(variable, levels - 1)}), ',')"
    return f"concat({schema}, CASE WHEN {schema} RLIKE '{MERGED}' THEN concat('(', {inner}, ')') ELSE '' END)"


def _inner(value: str) -> str:
    """Returns SQL for the values in an array or an object, in order; an empty array for any other value."""
    objects = f"map_values(try_cast({value} AS MAP<STRING, VARIANT>))"
    return f"coalesce(try_cast({value} AS ARRAY<VARIANT>), {objects}, array())"


def elements(value: str) -> str:
    """Returns Spark's SQL for what `variant_explode` makes rows of: structs of key and value.

    The key of an element of an array is NULL. The result is NULL for a value that is no array and no object.
    """
    keyless = "`$element` -> named_struct('key', CAST(NULL AS STRING), 'value', `$element`)"
    keyed = "`$entry` -> named_struct('key', `$entry`.key, 'value', `$entry`.value)"
    return (
        f"coalesce(transform(try_cast({value} AS ARRAY<VARIANT>), {keyless}), "
        f"transform(map_entries(try_cast({value} AS MAP<STRING, VARIANT>)), {keyed}))"
    )
