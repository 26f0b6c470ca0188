"""An overwrite through a DeltaTable that was opened earlier keeps rows that were appended since."""

import tempfile

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

with tempfile.TemporaryDirectory() as path:
    write_deltalake(path, pa.table({"n": [1]}))
    opened = DeltaTable(path)
    write_deltalake(path, pa.table({"n": [2]}), mode="append")
    write_deltalake(opened, pa.table({"n": [3]}), mode="overwrite")
    print("seen:", sorted(DeltaTable(path).to_pyarrow_table()["n"].to_pylist()))
print("expected: [3]")
