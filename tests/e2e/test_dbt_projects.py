"""`dvs dbt` on projects of one or two models: microbatch, vars of each run, raw names, hidden values."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.dbt.search import DbtResult, search
from campaign.exit_codes import ExitCode
from reports.documents import DbtDocument

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv" / "dbt" / "bin" / "python"

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not PYTHON.exists(), reason="no dbt: `python setup/for_tests.py dbt` installs it"),
]

PROJECT = 'name: shop\nversion: "1.0"\nprofile: shop\nflags: {send_anonymous_usage_stats: false}\n'
PROFILE = "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb}}}\n"
SOURCES = """
sources:
  - name: raw
    schema: main
    tables:
      - {name: orders, config: {event_time: made_at}}
      - {name: files, meta: {external_location: "s3://nowhere/*.parquet"}}
  - name: production
    database: lake
    schema: sold
    tables: [{name: goods}]
"""
SCHEMA = """
CREATE SCHEMA nowhere_else;
CREATE TABLE nowhere_else.unused (a INTEGER);
CREATE TABLE orders (id INTEGER PRIMARY KEY, amount DECIMAL(10,2), made_at TIMESTAMP);
CREATE TABLE files (id INTEGER PRIMARY KEY);
CREATE TABLE sold.goods (id INTEGER PRIMARY KEY);
CREATE TABLE web.clicks (id INTEGER PRIMARY KEY, doc JSON, n INTEGER);
CREATE TABLE web.views (id INTEGER PRIMARY KEY, doc STRUCT(tm TIMESTAMP, n INTEGER));
CREATE TABLE web.visits (id INTEGER PRIMARY KEY, page VARCHAR);
CREATE TABLE web.tickets (id INTEGER PRIMARY KEY, state VARCHAR, n1 INTEGER, n2 INTEGER, n3 INTEGER,
    n4 INTEGER, n5 INTEGER, n6 INTEGER, gone_at TIMESTAMP, updated_at TIMESTAMP);
"""


def written(folder: Path, models: dict[str, str]) -> list[str]:
    """Writes a project of models, by name and text; returns the words of the command that judges it."""
    (folder / "models").mkdir(parents=True)
    files = {"dbt_project.yml": PROJECT, "profiles.yml": PROFILE, "models/sources.yml": SOURCES}
    files |= {"schema.sql": SCHEMA} | {f"models/{name}.sql": text for name, text in models.items()}
    for name, text in files.items():
        (folder / name).write_text(text)
    return ["dbt", str(folder), "--dbt-python", str(PYTHON), "--schema", str(folder / "schema.sql")]


def judged(
    folder: Path, models: dict[str, str], *words: str, expected: ExitCode, profile: str = PROFILE
) -> DbtDocument:
    """What `dvs dbt` says of models, by name and text."""
    command = written(folder, models)
    (folder / "profiles.yml").write_text(profile)
    done = CliRunner().invoke(main, [*command, "--out", str(folder / "out"), "--json", *words])
    assert done.exit_code == expected, done.output
    found: DbtDocument = json.loads(done.stdout)
    return found


def kinds(*names: str) -> list[str]:
    """The words that choose kinds of change."""
    return [word for name in names for word in ("--kind", name)]


def test_batches_follow_the_clock_of_the_trial(tmp_path: Path) -> None:
    batched = (
        "{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='made_at',"
        " batch_size='day', begin='2020-01-01', lookback=1,"
        " meta={'dvs': {'promises': ['append_only', {'late_by': '2 days'}]}}) }}"
        "select id, amount, made_at from {{ source('raw', 'orders') }}"
    )
    words = ("--trials", "4", *kinds("appended", "appended_late"))
    found = judged(tmp_path, {"batched": batched}, *words, expected=ExitCode.FAILED)
    cells = found["models"]["batched"]["changes"]
    assert cells["appended"]["verdict"] == "equal"
    assert cells["appended_late"]["broken_promise"]
    reproduction = cells["appended_late"]["reproduction"]
    assert reproduction is not None
    assert reproduction["late"] == "2 days"
    script = tmp_path / "out" / "differences" / "batched-appended_late" / "reproduce.sh"
    environment = {"PYTHON": str(PYTHON), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(["bash", str(script)], env=environment, capture_output=True, text=True)
    assert ran.returncode == 1, ran.stderr
    assert "missing after the incremental runs:" in ran.stdout


def test_what_batches_join_is_a_dimension(tmp_path: Path) -> None:
    """Its changes were those of a source that drives the model, which `append_only` excludes."""
    batched = (
        "{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='made_at',"
        " batch_size='day', begin='2020-01-01', lookback=1) }} select o.id, v.page, o.made_at"
        " from {{ source('raw', 'orders') }} o left join web.visits v on v.id = o.id"
    )
    words = ("--trials", "2", *kinds("dimension_changed"))
    found = judged(tmp_path, {"batched": batched}, *words, expected=ExitCode.OK)
    assert found["models"]["batched"]["changes"]["dimension_changed"]["trials"]


def test_a_part_of_a_document_is_the_clock(tmp_path: Path) -> None:
    """It was drawn at random, so that rows "newer than all others" were older, and each model was wrong."""
    text = (
        "{{{{ config(materialized='incremental', unique_key='id') }}}}"
        "select id, {at} as made, {n} as n from {table}"
        "{{% if is_incremental() %}} where {at} > (select max(made) from {{{{ this }}}}) {{% endif %}}"
    )
    models = {
        "clicks": text.format(at="(doc->>'$.meta.at')::timestamp", n="n", table="web.clicks"),
        "views": text.format(at="doc.tm", n="doc.n", table="web.views"),
    }
    words = ("--trials", "4", *kinds("appended", "updated", "updated_without_clock"))
    found = judged(tmp_path, models, *words, expected=ExitCode.OK)
    for name in models:
        cells = found["models"][name]["changes"]
        judged_as = {kind: cell["verdict"] for kind, cell in cells.items() if cell["trials"]}
        expected = {"appended": "equal", "updated": "equal", "updated_without_clock": "differs"}
        assert judged_as == expected


def test_rows_that_leave_a_filter_are_found(tmp_path: Path) -> None:
    """Read by their clock, rows that are updated out of the filter stay in the model."""
    filtered = (
        "{{ config(materialized='incremental', unique_key='id') }}"
        "with tickets as (select id, lower(state) as status, gone_at, updated_at from web.tickets)"
        "select id, updated_at from tickets where CONDITION {% if is_incremental() %}"
        "and updated_at >= (select coalesce(max(updated_at), '2000-01-01') from {{ this }}) {% endif %}"
    )
    conditions = {"by_status": "status = 'open'", "there": "gone_at is null", "gone": "gone_at is not null"}
    models = {name: filtered.replace("CONDITION", each) for name, each in conditions.items()}
    words = ("--trials", "6", *kinds("appended", "updated"))
    found = judged(tmp_path, models, *words, expected=ExitCode.OK)
    for model in models:
        cells = found["models"][model]["changes"]
        assert (cells["appended"]["verdict"], cells["updated"]["verdict"]) == ("equal", "differs")
        assert cells["updated"]["source_rows"] == 1


def test_vars_follow_the_clock_and_raw_names_files_and_other_catalogs_are_sources(tmp_path: Path) -> None:
    by_var = (
        "{{ config(materialized='incremental', unique_key='id') }} "
        "select * from {{ source('raw', 'orders') }}"
        "{% if is_incremental() %} where made_at >= cast('{{ var('run_date') }}' as date) - 40 {% endif %}"
    )
    named = "{{ config(materialized='incremental', unique_key='id') }} select id, page from web.visits"
    in_files = (
        "{{ config(materialized='incremental', unique_key='id') }} select * from {{ source('raw', 'files') }}"
    )
    elsewhere = in_files.replace("'raw', 'files'", "'production', 'goods'")
    words = ("--vars", "{run_date: '{now:%Y-%m-%d}'}", "--trials", "2", *kinds("appended", "deleted"))
    models = {"by_var": by_var, "named": named, "in_files": in_files, "elsewhere": elsewhere}
    found = judged(tmp_path, models, *words, expected=ExitCode.OK)
    for model in models:
        cells = found["models"][model]["changes"]
        assert (cells["appended"]["verdict"], cells["deleted"]["verdict"]) == ("equal", "differs")


def test_values_of_a_file_are_hidden_unless_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One search, shown twice."""
    searched: list[DbtResult] = []

    def once(*args: Any, **named: Any) -> DbtResult:
        searched.extend([] if searched else [search(*args, **named)])
        return searched[0]

    monkeypatch.setattr("campaign.dbt.search.search", once)
    people = tmp_path / "people.csv"
    people.write_text("id,name\n1,geheim\n2,geheim\n3,geheim\n")
    reads_it = (
        "{{ config(materialized='incremental', unique_key='id') }} select o.id, p.name "
        f"from {{{{ source('raw', 'orders') }}}} o join read_csv('{people}') p on true"
    )
    words = ("--trials", "1", *kinds("deleted"))
    for number, (more, shown) in enumerate((((), False), (("--show-values",), True))):
        folder = tmp_path / str(number)
        found = judged(folder, {"reads_it": reads_it}, *words, *more, expected=ExitCode.OK)
        assert found["models"]["reads_it"]["changes"]["deleted"]["verdict"] == "differs"
        files = [file.read_text() for file in (folder / "out").rglob("*.*")]
        assert any("geheim" in text for text in (json.dumps(found), *files)) is shown
        assert any("hidden" in text for text in files) is not shown


def test_a_reproduction_has_the_settings_of_the_profile(tmp_path: Path) -> None:
    """Its target had the path and the schema only, so that the model failed there."""
    profile = PROFILE.replace("shop.duckdb", "shop.duckdb, settings: {integer_division: true}")
    needs_it = (
        "{{ config(materialized='incremental', unique_key='id') }} select id, page,"
        " case when not current_setting('integer_division') then error('no settings') end as failed"
        " from web.visits"
    )
    words = ("--trials", "1", *kinds("deleted"))
    judged(tmp_path, {"needs_it": needs_it}, *words, expected=ExitCode.OK, profile=profile)
    script = tmp_path / "out" / "differences" / "needs_it-deleted" / "reproduce.sh"
    environment = {"PYTHON": str(PYTHON), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(["bash", str(script)], env=environment, capture_output=True, text=True)
    assert (ran.returncode, "too many:" in ran.stdout) == (1, True), ran.stdout + ran.stderr


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_search_says_what_it_saw(tmp_path: Path, sent: signal.Signals) -> None:
    """As Ctrl-C and `timeout` send it, to all processes: no trial breaks, and nothing is called wrong."""
    named = "{{ config(materialized='incremental', unique_key='id') }} select id, page from web.visits"
    command = [*written(tmp_path, {"named": named}), "--trials", "500", *kinds("appended", "updated")]
    run = subprocess.Popen(
        [sys.executable, "-c", "from campaign.cli import main; main()", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell that starts the tests in the background lets every process below it ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert run.stderr is not None
    for line in run.stderr:
        if "comparing" in line and "999" not in line:
            break
    os.killpg(run.pid, sent)
    stdout, stderr = run.communicate(timeout=120)
    assert run.returncode == ExitCode.UNKNOWN, stderr
    assert "the run was interrupted: this is what its trials showed until then" in stdout
    assert "a trial broke" not in stdout
    assert "named needs nothing" in stdout


def test_a_marked_test_fails_with_the_rows_of_a_broken_promise() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "test_shop.py"],
        cwd=ROOT / "examples" / "dbt_shop",
        env={**os.environ, "DBT_PYTHON": str(PYTHON), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert "PASSED test_shop.py::test_orders_right" in ran.stdout, ran.stdout
    assert "FAILED test_shop.py::test_orders_window" in ran.stdout
    assert "orders_window: wrong although the promises were kept" in ran.stdout
    assert "orders_window, appended late:\n  raw.orders: append" in ran.stdout
