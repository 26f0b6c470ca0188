"""PERCENTILE ignores its third argument, how often each value counts."""

from pysail.spark import SparkConnectServer
from pyspark.sql.connect.session import SparkSession

server = SparkConnectServer(ip="127.0.0.1", port=0)
server.start(background=True)
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()
TEXT = "SELECT PERCENTILE(a, 0.5, n) FROM VALUES (1, 10), (2, 1), (3, 1) AS t(a, n)"
try:
    print("seen:", sorted(map(repr, map(tuple, spark.sql(TEXT).collect()))))
except Exception as error:  # noqa: BLE001
    print("seen:", str(error).splitlines()[0][:60])
print("expected:", ["(1.0,)"])
