"""An overwrite through a DeltaTable that was opened before an OPTIMIZE keeps all old rows."""

import tempfile

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

with tempfile.TemporaryDirectory() as path:
    for number in (1, 2):
        write_deltalake(path, pa.table({"n": [number]}), mode="append")
    opened = DeltaTable(path)
    DeltaTable(path).optimize.compact()
    write_deltalake(opened, pa.table({"n": [3]}), mode="overwrite")
    print("seen:", sorted(DeltaTable(path).to_pyarrow_table()["n"].to_pylist()))
print("expected: [3]")
