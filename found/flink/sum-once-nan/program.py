"""SUM of doubles is NaN for ever, once a NaN was among them."""

from importlib.metadata import distribution

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

jars = distribution("apache-flink-libraries").locate_file("pyflink/lib")
port = launch_gateway(classpath=f"{jars}/*", die_on_exit=True)
flink = JavaGateway(gateway_parameters=GatewayParameters(port=port)).jvm.org.apache.flink
# Of the rows of a key, the second one makes a count of 2, so that both are gone.
QUERY = """SELECT SUM(a) AS x FROM (SELECT id, a FROM (VALUES (1, 1.5E0), (2, CAST('NaN' AS DOUBLE)),
(2, CAST('NaN' AS DOUBLE))) AS r(id, a) GROUP BY id, a HAVING COUNT(*) = 1) AS s"""
settings = flink.table.api.EnvironmentSettings
for answer, mode in (("seen:", settings.inStreamingMode()), ("expected:", settings.inBatchMode())):
    tables = flink.table.api.TableEnvironment.create(mode)
    tables.getConfig().set("parallelism.default", "1")
    rows = []
    for change in flink.util.CollectionUtil.iteratorToList(tables.executeSql(QUERY).collect()):
        row = change.toString()[2:]
        rows.append(row) if change.getKind().shortString() in ("+I", "+U") else rows.remove(row)
    print(answer, " ".join(sorted(rows)) or "no row")
