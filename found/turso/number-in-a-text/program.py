"""A number in a text is read inexactly."""

import turso

db = turso.connect(":memory:").cursor()
print("seen:", db.execute("SELECT -1e-300 AS x").fetchall())
print("expected:", [(-1e-300,)])
