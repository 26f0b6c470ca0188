"""`dvs audit` of accounts that are written by hand with delta-rs."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from campaign.audit.audit import AuditedTable, AuditVerdict, audit


def stored(folder: Path, name: str, rows: pa.Table, text: str = "", version: int | None = None) -> None:
    """Writes a base table, or with a text a dynamic table over version 0 of `t` or without a refresh."""
    definition: dict[str, object] = {"kind": "base table"}
    if text:
        definition = {"kind": "dynamic table", "text": text}
    metadata: dict[str, object] = {"dvs": 1}
    if version is not None:
        frontier = {"timestamp": 1, "sources": {"stored": [version, 1, 1, "id"]}}
        metadata["refresh"] = {"action": "INITIALIZE", "frontier": frontier}
    write_deltalake(str(folder / name), rows)
    log = folder / name / "_delta_log" / f"{0:020d}.json"
    actions = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for action in actions:
        if "metaData" in action:
            action["metaData"]["id"] = "id"
            action["metaData"]["configuration"] = {"dvs.definition": json.dumps(definition)}
        if "commitInfo" in action:
            action["commitInfo"]["userMetadata"] = json.dumps(metadata)
    log.write_text("\n".join(map(json.dumps, actions)), encoding="utf-8")


def audited(folder: Path) -> AuditedTable:
    [table] = audit(folder).tables
    return table


@pytest.mark.parametrize(
    ("source", "contents", "due"),
    [
        pytest.param(pa.array([1, 2]), pa.array([1, 2]), AuditVerdict.HOLDS, id="equal"),
        pytest.param(pa.array([1, 2]), pa.array([1, 3]), AuditVerdict.VIOLATED, id="another value"),
        pytest.param(pa.array([1.5]), pa.array([2]), AuditVerdict.VIOLATED, id="a type that would hide it"),
        pytest.param(pa.array([1.0]), pa.array([1]), AuditVerdict.HOLDS, id="a whole number in a float"),
        pytest.param(pa.array([1]), pa.array(["1"]), AuditVerdict.UNKNOWN, id="another type"),
        pytest.param(pa.array([0.0]), pa.array([-0.0]), AuditVerdict.HOLDS, id="minus zero"),
        pytest.param(
            pa.array([0.1 + 0.2]), pa.array([0.3]), AuditVerdict.HOLDS, id="the last digit of a float"
        ),
    ],
)
def test_contents_are_compared(
    tmp_path: Path, source: pa.Array, contents: pa.Array, due: AuditVerdict
) -> None:
    # The name of the source is one that the audit uses itself.
    stored(tmp_path, "stored", pa.table({"a": source}))
    stored(tmp_path, "d", pa.table({"a": contents}), "SELECT a FROM stored", version=0)
    assert audited(tmp_path).verdict is due


PAIRS = pa.array([{"i": None, "s": "y"}, {"i": 1, "s": "x"}])


@pytest.mark.parametrize(
    ("source", "contents", "query"),
    [
        pytest.param(PAIRS, PAIRS[1:], "SELECT MAX(a) AS b FROM stored", id="the largest struct"),
        pytest.param(
            PAIRS,
            pa.array([PAIRS.to_pylist()]),
            "SELECT SORT_ARRAY(COLLECT_LIST(STRUCT(a.i AS i, a.s AS s))) AS b FROM stored",
            id="structs in order",
        ),
        *(
            pytest.param(pa.array([text]), pa.array([value]), f"SELECT {name}(a) AS b FROM stored", id=name)
            for name, text, value in (
                ("UPPER", "\u00df\ufb01\u00e9a", "SSFI\u00c9A"),
                ("LOWER", "A\u03a3", "a\u03c2"),
                ("UPPER", "\u019b", "\ua7dc"),
                ("INITCAP", "\u00dfa", "Ssa"),
                ("INITCAP", "a A\u03a3", "A A\u03c2"),
            )
        ),
    ],
)
def test_what_duckdb_computes_otherwise_than_spark_violates_nothing(
    tmp_path: Path, source: pa.Array, contents: pa.Array, query: str
) -> None:
    stored(tmp_path, "stored", pa.table({"a": source}))
    stored(tmp_path, "d", pa.table({"b": contents}), query, version=0)
    assert audited(tmp_path).verdict in (AuditVerdict.HOLDS, AuditVerdict.UNKNOWN)


def test_rows_without_a_refresh_are_not_passed_over(tmp_path: Path) -> None:
    stored(tmp_path, "stored", pa.table({"a": [1]}))
    stored(tmp_path, "d", pa.table({"a": [5]}), "SELECT a FROM stored")
    assert audited(tmp_path).verdict in (AuditVerdict.VIOLATED, AuditVerdict.UNKNOWN)


def test_padded_texts_are_not_compared(tmp_path: Path) -> None:
    """Spark reads CHAR(4) with blanks, which are not in the files."""
    field = pa.field("a", pa.string(), metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(4)"})
    stored(tmp_path, "stored", pa.table({"a": ["ab"]}, schema=pa.schema([field])))
    stored(tmp_path, "d", pa.table({"n": [4]}), "SELECT length(a) AS n FROM stored", version=0)
    table = audited(tmp_path)
    assert table.verdict is AuditVerdict.UNKNOWN
    assert "column a is of type char(4)" in repr(table)


# {"a": 1}: the list of keys, and an object of one byte.
DOCUMENT = {"metadata": b"\x01\x01\x00\x01a", "value": b"\x02\x01\x00\x00\x02\x0c\x01"}
BLOBS = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])


@pytest.mark.parametrize(("number", "due"), [(1, AuditVerdict.HOLDS), (2, AuditVerdict.UNKNOWN)])
def test_documents_are_read_as_json(tmp_path: Path, number: int, due: AuditVerdict) -> None:
    """A VARIANT was two blobs in DuckDB, in which a path found nothing."""
    stored(tmp_path, "stored", pa.table({'p"q': pa.array([DOCUMENT, None], BLOBS)}))
    log = tmp_path / "stored" / "_delta_log" / f"{0:020d}.json"
    actions = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    versions = {"minReaderVersion": 3, "minWriterVersion": 7}
    features = {"readerFeatures": ["variantType"], "writerFeatures": ["variantType"]}
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {**versions, **features}
        if "metaData" in action:
            schema = json.loads(action["metaData"]["schemaString"])
            schema["fields"][0]["type"] = "variant"
            action["metaData"]["schemaString"] = json.dumps(schema)
    log.write_text("\n".join(map(json.dumps, actions)), encoding="utf-8")
    text = 'SELECT `p"q`:a::INT AS n FROM stored'
    stored(tmp_path, "d", pa.table({"n": pa.array([number, None], pa.int32())}), text, version=0)
    assert audited(tmp_path).verdict is due


def test_a_struct_of_two_such_fields_is_no_document(tmp_path: Path) -> None:
    stored(tmp_path, "stored", pa.table({"k": [1], "p": pa.array([DOCUMENT], BLOBS)}))
    text = "SELECT k, p.value AS v FROM stored"
    stored(tmp_path, "d", pa.table({"k": [1], "v": [DOCUMENT["value"]]}), text, version=0)
    assert audited(tmp_path).verdict is AuditVerdict.HOLDS
