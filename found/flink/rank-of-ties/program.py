"""RANK over a key that is no time counts the rows that tie: they get the rank of the last of them."""

from importlib.metadata import distribution

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

jars = distribution("apache-flink-libraries").locate_file("pyflink/lib")
port = launch_gateway(classpath=f"{jars}/*", die_on_exit=True)
flink = JavaGateway(gateway_parameters=GatewayParameters(port=port)).jvm.org.apache.flink
QUERY = """SELECT k, RANK() OVER (ORDER BY k) AS x FROM (VALUES (1), (3), (3), (5)) AS r(k)"""
settings = flink.table.api.EnvironmentSettings
for answer, mode in (("seen:", settings.inStreamingMode()), ("expected:", settings.inBatchMode())):
    tables = flink.table.api.TableEnvironment.create(mode)
    tables.getConfig().set("parallelism.default", "1")
    rows = []
    for change in flink.util.CollectionUtil.iteratorToList(tables.executeSql(QUERY).collect()):
        row = change.toString()[2:]
        rows.append(row) if change.getKind().shortString() in ("+I", "+U") else rows.remove(row)
    print(answer, " ".join(sorted(rows)) or "no row")
