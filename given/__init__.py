"""Given definitions (`dvs fuzz --definitions`): SQL scripts of users, from which scenarios are drawn.

`read.read_definitions` is the way in. `script`, `functions` and `changes` read statements, `facts` and
`documents` trace columns to base tables, `values`, `near`, `frequencies` and `witnesses` find values for
rows, `goals` what rows should bring about; `translation` gives texts for DuckDB, `texts` smaller ones.
"""

from __future__ import annotations

from pkgutil import extend_path

# A folder of this name in a user's project, without an __init__.py, keeps its own modules importable.
__path__ = extend_path(__path__, __name__)
