"""A RIGHT JOIN in SQL, and by Pathway's own tables."""

import logging

import pathway as pw

logging.disable()
one = pw.debug.table_from_rows(pw.schema_from_types(a=int, b=int), [(1, 10), (2, 20)])
two = pw.debug.table_from_rows(pw.schema_from_types(a=int, c=int), [(2, 200), (3, 300)])


def rows(table):
    keys, columns = pw.debug.table_to_dicts(table)
    return sorted(columns["c"][key] or 0 for key in keys)


print("seen:", rows(pw.sql("SELECT two.c AS c FROM one RIGHT JOIN two ON one.a = two.a", one=one, two=two)))
print("expected:", rows(one.join_right(two, one.a == two.a).select(two.c)))
