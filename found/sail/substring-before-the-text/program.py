"""SUBSTRING from before the text counts from its first character."""

from pysail.spark import SparkConnectServer
from pyspark.sql.connect.session import SparkSession

server = SparkConnectServer(ip="127.0.0.1", port=0)
server.start(background=True)
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()
TEXT = "SELECT SUBSTRING('Spark', -7, 3)"
try:
    print("seen:", sorted(map(repr, map(tuple, spark.sql(TEXT).collect()))))
except Exception as error:  # noqa: BLE001
    print("seen:", str(error).splitlines()[0][:60])
print("expected:", ["('S',)"])
