"""Files of results: whole or not at all, and never in place of a device."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.files import write_text


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "some text")
        assert os.read(reader, 100) == b"some text"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_folder_in_memory_is_an_ordinary_folder() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        report = Path(folder) / "deeper" / "report"
        write_text(report, "old")
        write_text(report, "new")
        assert report.read_text(encoding="utf-8") == "new"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"


def test_a_folder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match=f"cannot write {tmp_path}"):
        write_text(tmp_path, "some text")


def test_two_reports_need_two_files(tmp_path: Path) -> None:
    history, report = tmp_path / "h.adya", tmp_path / "report"
    history.write_text("w1(x1) c1\n", encoding="utf-8")
    result = CliRunner().invoke(main, ["check", str(history), "--html", str(report), "--sarif", str(report)])
    assert result.exit_code == ExitCode.MISUSE
    assert f"two reports would be written to {report}" in result.stderr
    assert not report.exists()


def test_a_dash_is_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "h.adya").write_text("w1(x1) c1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["convert", "h.adya", "--to", "adya", "--out", "-"])
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "w1(x1) c1\n")
    refused = CliRunner().invoke(main, ["convert", "h.adya", "--to", "parquet", "--out", "-"])
    assert refused.exit_code == ExitCode.MISUSE
    assert [path.name for path in tmp_path.iterdir()] == ["h.adya"]
