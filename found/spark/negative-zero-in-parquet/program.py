"""Rows with -0.0 are lost where a condition asks for 0.0 (Parquet's dictionary is asked for the bits)."""

import tempfile

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
path = tempfile.mkdtemp() + "/t"
spark.sql("SELECT IF(id % 2 = 0, -0.0D, 0.5D) AS d FROM range(100)").coalesce(1).write.parquet(path)
TEXT = "SELECT COUNT(*) FROM parquet.`{}` WHERE {} = 0.0D"
print("seen:", spark.sql(TEXT.format(path, "d")).collect()[0][0])
print("expected:", spark.sql(TEXT.format(path, "(d + 0)")).collect()[0][0])
