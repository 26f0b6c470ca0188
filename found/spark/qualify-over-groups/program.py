"""QUALIFY over groups finds no column of FROM."""

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sql("SELECT * FROM VALUES (1, 2), (1, 3) AS t(d, c)").createOrReplaceTempView("t")
TEXT = "SELECT d, COUNT(c) AS n FROM t GROUP BY d"
try:
    seen = spark.sql(TEXT + " QUALIFY MAX(COUNT(t.c)) OVER (PARTITION BY t.d) = 2").collect()
except AnalysisException as error:
    seen = str(error).split("]")[0] + "]"
print("seen:", seen)
print("expected:", spark.sql(TEXT + " QUALIFY MAX(n) OVER (PARTITION BY d) = 2").collect())
