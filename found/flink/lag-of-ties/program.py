"""LAG over a key that is no time fails where rows tie."""

from importlib.metadata import distribution

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

jars = distribution("apache-flink-libraries").locate_file("pyflink/lib")
port = launch_gateway(classpath=f"{jars}/*", die_on_exit=True)
flink = JavaGateway(gateway_parameters=GatewayParameters(port=port)).jvm.org.apache.flink
QUERY = """SELECT k, LAG(k) OVER (ORDER BY k) AS x FROM (VALUES (1), (3), (3)) AS r(k)"""
settings = flink.table.api.EnvironmentSettings
for answer, mode in (("seen:", settings.inStreamingMode()), ("expected:", settings.inBatchMode())):
    tables = flink.table.api.TableEnvironment.create(mode)
    tables.getConfig().set("parallelism.default", "1")
    try:
        rows = flink.util.CollectionUtil.iteratorToList(tables.executeSql(QUERY).collect())
        print(answer, " ".join(sorted(row.toString()[2:] for row in rows)))
    except Py4JJavaError as error:
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        print(answer, cause.getMessage())
