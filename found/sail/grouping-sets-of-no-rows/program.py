"""GROUPING SETS ((a), ()) over no rows gives a row, where Spark gives none."""

from pysail.spark import SparkConnectServer
from pyspark.sql.connect.session import SparkSession

server = SparkConnectServer(ip="127.0.0.1", port=0)
server.start(background=True)
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()
TEXT = "SELECT a, COUNT(*) FROM VALUES (1) AS t(a) WHERE a > 1 GROUP BY GROUPING SETS ((a), ())"
try:
    print("seen:", sorted(map(repr, map(tuple, spark.sql(TEXT).collect()))))
except Exception as error:  # noqa: BLE001
    print("seen:", str(error).splitlines()[0][:60])
print("expected:", [])
