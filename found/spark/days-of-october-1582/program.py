"""A row of 5 to 14 October 1582 is not found in a Parquet file by a condition on its date."""

import tempfile

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
path = tempfile.mkdtemp() + "/t"
spark.sql("SELECT DATE'1582-10-10' AS d").write.parquet(path)
TEXT = "SELECT COUNT(*) FROM parquet.`{}` WHERE {} = DATE'1582-10-10'"
print("seen:", spark.sql(TEXT.format(path, "d")).collect()[0][0])
print("expected:", spark.sql(TEXT.format(path, "date_add(d, 0)")).collect()[0][0])
