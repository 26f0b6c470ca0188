"""ORDER BY with OFFSET keeps a row that is gone: shown first, moved before the offset, then deleted."""

from importlib.metadata import distribution

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

jars = distribution("apache-flink-libraries").locate_file("pyflink/lib")
port = launch_gateway(classpath=f"{jars}/*", die_on_exit=True)
flink = JavaGateway(gateway_parameters=GatewayParameters(port=port)).jvm.org.apache.flink
# The second (1, 1) makes a count of 2, so that the row with a = 1 goes.
QUERY = """SELECT a FROM (VALUES (1, 1), (2, 3), (3, 0), (4, 0), (1, 1)) AS r(id, a) GROUP BY id, a
HAVING COUNT(*) = 1 ORDER BY a OFFSET 2 ROWS FETCH FIRST 2 ROWS ONLY"""
settings = flink.table.api.EnvironmentSettings
for answer, mode in (("seen:", settings.inStreamingMode()), ("expected:", settings.inBatchMode())):
    tables = flink.table.api.TableEnvironment.create(mode)
    tables.getConfig().set("parallelism.default", "1")
    rows = []
    for change in flink.util.CollectionUtil.iteratorToList(tables.executeSql(QUERY).collect()):
        shown = change.getKind().shortString() in ("+I", "+U")
        rows.append(change.getField(0)) if shown else rows.remove(change.getField(0))
    print(answer, sorted(rows))
