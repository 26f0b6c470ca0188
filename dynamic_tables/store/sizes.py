"""The sizes up to which the store computes in one way, and beyond which in another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Every threshold of the store, as one value, so that tests can reach what lies beyond with a few rows.

    No size changes what a table holds; each was chosen for speed, or as a bound of memory.

    `literal_rows`: most rows of a table that are kept as literals; a query over literals lists no files and
    takes one task. `changed_rows`, `changed_bytes`: the same for what changed. Measured at 15,000 updated
    rows of 3 million: 1.0 s by literals and a commit of the engine's own, 6.2 s by checkpoints and MERGE. The
    driver never holds more than this of one relation.
    `arrow_bytes`: size of the files from which changed rows are read without Spark; of each the row groups
    and columns that are needed. `ids_read_here`: rows of data files up to which the row ids in them, a column
    of some 20 MB, are read without Spark.
    `positions`: changed rows of one file up to which their positions are looked up; with more, the file is
    read whole. `ranges`: ranges of positions that are written as a condition; more become rows that are
    joined.
    `named_files`, `named_bytes`: files, and bytes in them, up to which a reader's data frame names each file;
    beyond, Delta chooses files by their statistics.
    `small_files`, `small_file`: more than so many files of fewer rows than that are rewritten as one file.
    Files with old dates stay: what those mean depends on who wrote the file, and only Spark knows.
    `statistics`: columns whose statistics a file of Delta has, by default, and the longest text among them.
    `kept_tables`, `kept_results`: how many small versions of tables, and how many small results of plans, are
    kept for the next refresh.
    """

    literal_rows: int = 5_000
    changed_rows: int = 50_000
    changed_bytes: int = 16 << 20
    arrow_bytes: int = 256 << 20
    ids_read_here: int = 2_000_000
    positions: int = 1_000_000
    ranges: int = 200
    named_files: int = 100
    named_bytes: int = 64 << 20
    small_files: int = 30
    small_file: int = 5_000
    statistics: int = 32
    kept_tables: int = 64
    kept_results: int = 16


SIZES = Sizes()
"""The default sizes."""
