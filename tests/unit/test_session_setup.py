"""A session's set-up: which Java, which jars, which settings; one clear line when something is missing."""

import json
import os
import stat
from pathlib import Path

import pytest

from dynamic_tables.errors import SessionError
from dynamic_tables.session.jars import BESIDE, DELTA, S3A, JarCache, proxy_options, unresolved
from dynamic_tables.session.java import find_java
from dynamic_tables.session.launch import fetch_jars, launch_conf, launch_environment, spark_home
from dynamic_tables.session.settings import (
    FILES,
    JVM_OPTIONS,
    MEMORY,
    RUNTIME,
    Settings,
    overrides,
    s3_settings,
)


def make_java(home: Path, version: str) -> Path:
    """A fake JDK in `home` that answers as a real one of `version` does."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        f"#!/bin/sh\necho '    java.home = {home}\n    java.specification.version = {version}' >&2\n"
    )
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    return executable.parent


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    make_java(tmp_path / "chosen", "21")
    path = make_java(tmp_path / "other", "17")
    java = find_java({"JAVA_HOME": str(tmp_path / "chosen"), "PATH": str(path)}, jvm_roots=())
    assert (java.home, java.major, java.found_by) == (tmp_path / "chosen", 21, "JAVA_HOME")


def test_an_unfit_default_java_gives_way_to_a_fit_one_of_the_system(tmp_path: Path) -> None:
    path = make_java(tmp_path / "new", "25")
    make_java(tmp_path / "jvm" / "jdk-17", "17")
    java = find_java({"PATH": str(path)}, jvm_roots=(tmp_path / "jvm",))
    assert (java.home, java.major) == (tmp_path / "jvm" / "jdk-17", 17)


def test_a_java_home_that_is_gone_does_not_hide_the_java_on_path(tmp_path: Path) -> None:
    path = make_java(tmp_path / "good", "17")
    assert find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(path)}, jvm_roots=()).major == 17


def test_no_java_at_all_names_where_it_looked_and_the_remedy() -> None:
    with pytest.raises(SessionError) as caught:
        find_java({"PATH": ""}, jvm_roots=())
    text = str(caught.value)
    assert "JAVA_HOME is not set; no java on PATH" in text
    assert "apt-get install openjdk-17-jre-headless" in text
    assert "\n" not in text


@pytest.mark.parametrize(("version", "message"), [("1.8", "Java 8"), ("11", "Java 11"), ("25", "Java 25")])
def test_a_wrong_java_is_named_with_its_release(tmp_path: Path, version: str, message: str) -> None:
    path = make_java(tmp_path / "jdk", version)
    with pytest.raises(SessionError, match=message):
        find_java({"PATH": str(path)}, jvm_roots=())


def test_a_java_that_does_not_run_is_no_traceback(tmp_path: Path) -> None:
    folder = make_java(tmp_path / "jdk", "17")
    (folder / "java").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(SessionError, match="does not run"):
        find_java({"PATH": str(folder)}, jvm_roots=())


def resolved(cache: JarCache) -> None:
    """What Ivy leaves behind, in small."""
    cache.jars_folder.mkdir(parents=True)
    for name in ("delta-spark.jar", "delta-storage.jar"):
        (cache.jars_folder / name).write_bytes(b"jar")


def test_the_cache_is_where_dvs_cache_says(tmp_path: Path) -> None:
    default = JarCache.of({"HOME": "/home/u"}).folder
    assert default == Path("/home/u/.cache/dvs-harness/delta-spark_4.2_2.13-4.4.0")
    assert JarCache.of({"DVS_CACHE": str(tmp_path)}).folder.parent == tmp_path


def test_a_cache_counts_only_once_it_is_sealed(tmp_path: Path) -> None:
    cache = JarCache(tmp_path)
    assert cache.jars() is None
    resolved(cache)
    assert cache.jars() is None
    assert cache.seal() == cache.jars()
    assert [path.name for path in cache.jars() or ()] == ["delta-spark.jar", "delta-storage.jar"]


def test_a_jar_cut_short_or_gone_voids_the_cache(tmp_path: Path) -> None:
    cache = JarCache(tmp_path)
    resolved(cache)
    cache.seal()
    (cache.jars_folder / "delta-spark.jar").write_bytes(b"j")
    assert cache.jars() is None
    (cache.jars_folder / "delta-spark.jar").unlink()
    assert cache.jars() is None


def test_a_manifest_of_nothing_or_of_nonsense_is_no_cache(tmp_path: Path) -> None:
    for text in (json.dumps({}), "{"):
        (tmp_path / "manifest.json").write_text(text)
        assert JarCache(tmp_path).jars() is None


def test_cached_jars_need_neither_network_nor_java(tmp_path: Path) -> None:
    env = {"DVS_CACHE": str(tmp_path), "PATH": ""}
    cache = JarCache.of(env)
    resolved(cache)
    cache.seal()
    assert fetch_jars(env) == cache.jars()


def test_s3a_is_that_of_sparks_hadoop_and_has_a_cache_of_its_own(tmp_path: Path) -> None:
    version = S3A.rpartition(":")[2]
    assert (spark_home() / "jars" / f"hadoop-client-api-{version}.jar").exists()
    env = {"DVS_CACHE": str(tmp_path)}
    assert JarCache.of(env, S3A).folder != JarCache.of(env, DELTA).folder
    assert BESIDE.keys() == {S3A}
    error = unresolved("::   UNRESOLVED DEPENDENCIES   ::\n", S3A)
    assert str(error).startswith(f"The jars of {S3A} cannot be downloaded")


def test_a_server_like_s3_is_found_by_the_variables_of_amazons_tools() -> None:
    assert s3_settings({}) == {}
    assert s3_settings({"AWS_REGION": "eu-west-1"}) == {}
    general = {"AWS_ENDPOINT_URL": "http://all:1", "AWS_REGION": "eu-west-1"}
    found = s3_settings(general)
    assert found["spark.hadoop.fs.s3a.endpoint"] == "http://all:1"
    assert found["spark.hadoop.fs.s3a.endpoint.region"] == "eu-west-1"
    assert s3_settings({**general, "AWS_ENDPOINT_URL_S3": "http://s3:2"})["spark.hadoop.fs.s3a.endpoint"] == (
        "http://s3:2"
    )


def test_jars_that_cannot_be_downloaded_are_told_from_other_failures() -> None:
    log = "\thttps://repo.example.org/maven2/io/delta/x.pom\n::   UNRESOLVED DEPENDENCIES   ::\n"
    error = unresolved(log)
    assert error is not None
    assert DELTA in str(error)
    assert "not available from repo.example.org" in str(error)
    assert "Maven Central" in str(error)
    assert unresolved("java.lang.OutOfMemoryError") is None


@pytest.mark.spark
@pytest.mark.own_jvm
def test_without_a_network_and_a_cache_the_message_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9"
    env = {**os.environ, "DVS_CACHE": str(tmp_path), "https_proxy": nowhere, "http_proxy": nowhere}
    with pytest.raises(SessionError, match="cannot be downloaded") as caught:
        fetch_jars({**env, "HOME": str(tmp_path), "DEFAULT_ARTIFACT_REPOSITORY": "https://127.0.0.1:9/"})
    assert "\n" not in str(caught.value)
    assert JarCache.of(env).jars() is None


@pytest.mark.parametrize("value", ["http://proxy.example:3128", "proxy.example:3128"])
def test_a_proxy_is_passed_on_in_javas_words(value: str) -> None:
    options = proxy_options({"https_proxy": value})
    assert options == ("-Dhttps.proxyHost=proxy.example", "-Dhttps.proxyPort=3128")
    assert proxy_options({}) == ()


def test_every_settings_table_covers_every_preset() -> None:
    for table in (RUNTIME, MEMORY, FILES, JVM_OPTIONS):
        assert table.keys() == set(Settings)


def test_a_lasting_session_differs_in_its_compiler_alone() -> None:
    for table in (RUNTIME, MEMORY, FILES):
        assert table[Settings.LASTING] == table[Settings.TUNED]
    (removed,) = set(JVM_OPTIONS[Settings.TUNED]) - set(JVM_OPTIONS[Settings.LASTING])
    assert removed == "-XX:TieredStopAtLevel=1"


def test_stock_on_a_tuned_jvm_takes_back_all_that_tuned_set() -> None:
    assert overrides(Settings.STOCK).keys() == RUNTIME[Settings.TUNED].keys()
    assert set(overrides(Settings.STOCK).values()) == {None}
    assert overrides(Settings.TUNED) == RUNTIME[Settings.TUNED]


@pytest.mark.parametrize("settings", Settings)
def test_every_file_spark_writes_is_in_the_scratch_folder(tmp_path: Path, settings: Settings) -> None:
    scratch = tmp_path / "with a space"
    conf = launch_conf(app_name="a", settings=settings, master="local[2]", scratch=scratch, jars=())
    assert Path(conf["spark.local.dir"]).is_relative_to(scratch)
    assert Path(conf["spark.sql.warehouse.dir"]).is_relative_to(scratch)
    assert f"'-Djava.io.tmpdir={scratch}/tmp'" in conf["spark.driver.extraJavaOptions"]


def test_the_users_own_spark_and_python_are_not_used(tmp_path: Path) -> None:
    make_java(tmp_path, "17")
    java = find_java({"JAVA_HOME": str(tmp_path)}, jvm_roots=())
    local = launch_environment(java, master="local[2]")
    assert local["JAVA_HOME"] == str(tmp_path)
    assert Path(local["SPARK_HOME"]).name == "pyspark"
    assert "PYSPARK_PYTHON" in local
    assert "PYSPARK_PYTHON" not in launch_environment(java, master="spark://host:7077")
