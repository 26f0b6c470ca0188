"""LATERAL with ORDER BY and LIMIT gives one row in all where one key is INT and the other BIGINT."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sql("SELECT * FROM VALUES (1), (2) AS t(a)").createOrReplaceTempView("r")
spark.sql("SELECT * FROM VALUES (1L, 5), (1L, 6), (2L, 7) AS t(a, h)").createOrReplaceTempView("s")
TEXT = "SELECT r.a, h FROM r, LATERAL (SELECT h FROM s WHERE s.a = r.a ORDER BY h LIMIT 1) ORDER BY 1"
LEAST = "SELECT r.a, MIN(h) FROM r JOIN s ON s.a = r.a GROUP BY r.a ORDER BY 1"
print("seen:", [tuple(row) for row in spark.sql(TEXT).collect()])
print("expected:", [tuple(row) for row in spark.sql(LEAST).collect()])
