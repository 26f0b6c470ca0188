"""The archive of classes: one for each Java and Spark of an environment, used where it is, never needed."""

from pathlib import Path

import pytest

from dynamic_tables.session import class_archive
from dynamic_tables.session.class_archive import (
    MAKING,
    archive_folder,
    archive_in,
    archive_options,
    make_archive,
)
from dynamic_tables.session.java import Java


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    monkeypatch.setattr(archive_folder, "__defaults__", (tmp_path / "venv",))
    return Java(tmp_path / "jdk", 17, "a test")


def test_each_java_and_each_spark_has_its_own(tmp_path: Path, java: Java) -> None:
    spark = tmp_path / "spark"
    first = archive_folder(java, spark)
    assert first.parent == tmp_path / "venv" / "share" / "dvs-harness"
    java.home.mkdir()
    (java.home / "release").write_text('JAVA_VERSION="17.0.99"')
    assert len({first, archive_folder(java, spark), archive_folder(java, tmp_path / "other")}) == 3


def test_it_is_used_where_it_is_and_whole(tmp_path: Path, java: Java) -> None:
    assert archive_options(java, tmp_path, {}) == ()
    path = archive_folder(java, tmp_path) / "7.jsa"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"classes")
    assert f"-XX:SharedArchiveFile={path}" in archive_options(java, tmp_path, {})
    assert archive_options(java, tmp_path, {MAKING: "new"})[-1] == "-XX:ArchiveClassesAtExit=new"
    path.write_bytes(b"clas")
    assert archive_in(path.parent) is None


def test_what_cannot_be_made_is_done_without(
    tmp_path: Path, java: Java, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_archive, "WARM_UP", "raise SystemExit(1)")
    assert not make_archive(java, tmp_path, {})
    assert archive_options(java, tmp_path, {}) == ()
    made = f"import os, pathlib; pathlib.Path(os.environ['{MAKING}']).write_bytes(b'classes')"
    monkeypatch.setattr(class_archive, "WARM_UP", made)
    assert make_archive(java, tmp_path, {})
    assert make_archive(java, tmp_path, {})
    assert archive_options(java, tmp_path, {}) != ()
