"""UNION and then UNION ALL, in one statement and in two."""

import logging

import pathway as pw

logging.disable()
one = pw.debug.table_from_rows(pw.schema_from_types(a=int), [(1,), (2,)])
two = pw.debug.table_from_rows(pw.schema_from_types(a=int), [(2,), (3,)])


def rows(table):
    keys, columns = pw.debug.table_to_dicts(table)
    return sorted(columns["a"][key] for key in keys)


union = "SELECT a FROM one UNION SELECT a FROM two"
both = pw.sql(union, one=one, two=two)
print("seen:", rows(pw.sql(f"{union} UNION ALL SELECT a FROM one", one=one, two=two)))
print("expected:", rows(pw.sql("SELECT a FROM both UNION ALL SELECT a FROM one", both=both, one=one)))
