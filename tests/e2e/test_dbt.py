"""`dvs dbt` on real dbt: the usual mistakes of examples/dbt_shop are found, and bad input is one line."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from campaign.cli import main
from campaign.dbt.answers import CellVerdict
from campaign.dbt.facts import made_ready, opened
from campaign.dbt.kinds import ChangeKind
from campaign.dbt.process import Target, dbt_process
from campaign.dbt.project import Project
from campaign.dbt.run import Rejected, Runner
from campaign.dbt.search import DbtResult, Limits, search
from campaign.dbt.shown import decision_of, document
from campaign.dbt.smaller import shrink
from campaign.dbt.trials import Put, Round, Trial
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from dvs.testing import assert_dbt_models
from reports.documents import DbtDocument
from tests.schemas import unlike
from workload.outcomes.decision import Decision

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv" / "dbt" / "bin" / "python"
SHOP = ROOT / "examples" / "dbt_shop"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="no dbt: `python setup/for_tests.py dbt` installs it"),
]

KINDS = (
    *(ChangeKind.APPENDED, ChangeKind.APPENDED_LATE, ChangeKind.UPDATED_WITHOUT_CLOCK, ChangeKind.DELETED),
    *(ChangeKind.EQUAL_CLOCK, ChangeKind.SCHEMA_CHANGED),
)


def dvs_dbt(project: Path, *words: str) -> Result:
    """`dvs dbt` with the dbt of the tests, in one process: each takes seconds to start."""
    command = ["dbt", str(project), "--dbt-python", str(PYTHON), "--workers", "1", *words]
    return CliRunner().invoke(main, command)


ONE = Limits(seed=1, trials=1, rounds=1, budget=3600.0, workers=1)


def once_of_each_kind() -> Callable[..., None]:
    """The loop that makes a difference small, but for the first of each kind of change alone.

    To make all thirty small takes two thirds of the time of the search.
    """
    seen: set[ChangeKind] = set()

    def shrink_first(project: Project, base: dt.date, trial: Trial, fails: Callable[[Trial], bool]) -> None:
        if trial.kind not in seen:
            seen.add(trial.kind)
            shrink(project, base, trial, fails)

    return shrink_first


@pytest.fixture(scope="module")
def shop() -> DbtResult:
    """The example, searched."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("campaign.dbt.search.shrink", once_of_each_kind())
        return search(Target(SHOP, str(PYTHON)), ONE, schema=str(SHOP / "schema.sql"), kinds=KINDS)


@pytest.fixture(scope="module")
def shown(shop: DbtResult) -> DbtDocument:
    """The document of the example."""
    return document(shop, str(SHOP), 1)


def verdicts(found: DbtDocument, model: str) -> dict[str, str]:
    """The verdict of each kind of change on a model."""
    return {kind: cell["verdict"] for kind, cell in found["models"][model]["changes"].items()}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("model", "differs", "equal"),
    [
        (
            "orders_newest",
            {"appended_late", "equal_clock", "deleted"},
            {"appended"},
        ),
        ("orders_right", {"appended_late", "deleted"}, {"appended", "equal_clock"}),
        ("orders_window", {"appended_late", "deleted"}, {"appended", "equal_clock"}),
        ("orders_by_key", {"deleted"}, {"appended", "appended_late", "updated_without_clock"}),
        ("lines_not_unique", {"appended"}, set()),
        ("daily_totals", {"appended"}, set()),
        ("orders_by_country", {"deleted"}, {"appended", "equal_clock"}),
        ("visits_appended", {"schema_changed", "equal_clock"}, {"appended"}),
        ("customer_versions", {"updated_without_clock", "deleted"}, {"appended", "appended_late"}),
    ],
)
def test_each_usual_mistake_is_found(
    shown: DbtDocument, model: str, differs: set[str], equal: set[str]
) -> None:
    found = verdicts(shown, model)
    assert {kind for kind in differs if found[kind] != "differs"} == set()
    assert {kind for kind in equal if found[kind] != "equal"} == set()


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [kind.value for kind in KINDS if kind is not ChangeKind.APPENDED])
def test_a_difference_of_each_kind_is_made_small(shown: DbtDocument, kind: str) -> None:
    sizes = [model["changes"][kind]["source_rows"] or 99 for model in shown["models"].values()]
    assert min(sizes) <= 3


@pytest.mark.nightly
def test_a_dimension_that_changes_afterwards_is_not_seen() -> None:
    """Ten trials: a customer that an order of the trial has changes in one of three."""
    target = Target(SHOP, str(PYTHON), select=("orders_by_country", "country_totals"))
    limits = Limits(seed=1, trials=10, rounds=1, budget=3600.0, workers=1)
    kinds = (ChangeKind.APPENDED, ChangeKind.DIMENSION_CHANGED)
    found = search(target, limits, schema=str(SHOP / "schema.sql"), kinds=kinds)
    for model in ("orders_by_country", "country_totals"):
        cells = found.answers[f"model.dbt_shop.{model}"]
        assert cells[ChangeKind.APPENDED].verdict is CellVerdict.EQUAL
        smallest = cells[ChangeKind.DIMENSION_CHANGED].smallest
        assert smallest is not None
        assert smallest.trial.source_rows <= 3


@pytest.mark.nightly
def test_null_in_a_key_is_added_again_by_the_next_run() -> None:
    target = Target(SHOP, str(PYTHON), select=("payments_by_reference",))
    limits = Limits(seed=1, trials=2, rounds=2, budget=3600.0, workers=1)
    kinds = (ChangeKind.APPENDED, ChangeKind.NULL_KEY)
    found = search(target, limits, schema=str(SHOP / "schema.sql"), kinds=kinds)
    cells = found.answers["model.dbt_shop.payments_by_reference"]
    assert cells[ChangeKind.APPENDED].verdict is CellVerdict.EQUAL
    smallest = cells[ChangeKind.NULL_KEY].smallest
    assert smallest is not None
    assert smallest.trial.source_rows <= 2


@pytest.mark.nightly
def test_only_the_window_breaks_a_promise(shop: DbtResult, shown: DbtDocument) -> None:
    broken = {
        (name, kind)
        for name, model in shown["models"].items()
        for kind, cell in model["changes"].items()
        if cell["broken_promise"]
    }
    assert broken == {("orders_window", "appended_late")}
    assert decision_of(shop) is Decision.FAILED


@pytest.mark.nightly
def test_columns_that_never_repeat_are_left_out(shown: DbtDocument) -> None:
    assert any("built_at" in note for note in shown["models"]["visits_appended"]["notes"])


@pytest.mark.nightly
def test_nothing_is_written_into_the_project(shown: DbtDocument) -> None:
    assert shown["models"]
    assert not [path for path in SHOP.rglob("*") if path.name in ("target", "logs", "dbt_shop.duckdb")]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A copy of the example with one model, whose promise is broken by a late row."""
    project = tmp_path / "shop"
    shutil.copytree(SHOP, project)
    shutil.rmtree(project / "snapshots")
    for model in (project / "models").glob("*.sql"):
        if model.stem != "orders_window":
            model.unlink()
    (project / "models" / "models.yml").unlink()
    return project


@pytest.mark.nightly
def test_the_lateness_that_a_model_takes_is_its_window(small: Path) -> None:
    """Five trials: they are late by a minute, by days and by a month."""
    limits = Limits(seed=1, trials=5, rounds=2, budget=3600.0, workers=1)
    target = Target(small, str(PYTHON))
    late = search(target, limits, schema=str(small / "schema.sql"), kinds=(ChangeKind.APPENDED_LATE,))
    needs = document(late, str(small), 1)["models"]["orders_window"]["needs"]
    assert "no row is more than 2 days older" in needs


@pytest.mark.nightly
def test_the_command_its_files_and_its_script(small: Path, tmp_path: Path) -> None:
    promises, out, database = tmp_path / "promises.toml", tmp_path / "out", tmp_path / "some.duckdb"
    promises.write_text('[models.orders_window]\npromises = [{late_by = "3 days"}, "append_only"]\n')
    with duckdb.connect(str(database)) as connection:
        connection.execute((SHOP / "schema.sql").read_text())
        connection.execute("INSERT INTO customers VALUES (1, 'geheim', now())")
    words = ("--database", str(database), "--promises", str(promises), "--trials", "1", "--out", str(out))
    kinds = ("--kind", "appended_late", "--kind", "failed_run", "--kind", "two_runs")
    done = dvs_dbt(small, *words, *kinds, "--json")
    assert done.exit_code == ExitCode.FAILED, done.stderr
    assert unlike("dbt", done.stdout) == ""
    found = json.loads(done.stdout)
    assert verdicts(found, "orders_window") == {
        "appended_late": "differs",
        "failed_run": "equal",
        "two_runs": "equal",
    }
    note = found["models"]["orders_window"]["changes"]["two_runs"]["reason"]
    assert "the second run failed: IO Error: Could not set lock" in note
    for name in ("report.html", "report.md", "junit.xml", "dbt.json"):
        assert "geheim" not in (out / name).read_text()
    script = out / "differences" / "orders_window-appended_late" / "reproduce.sh"
    ran = subprocess.run(
        ["bash", str(script)],
        env={"PYTHON": str(PYTHON), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1, ran.stderr
    assert "missing after the incremental runs:" in ran.stdout


@pytest.mark.nightly
def test_an_assertion_shows_the_rows(small: Path, tmp_path: Path) -> None:
    promises = tmp_path / "promises.toml"
    promises.write_text('[models.orders_window]\npromises = ["append_only", {late_by = "3 days"}]\n')
    with pytest.raises(AssertionError, match=r"orders_window, appended late:\n  raw\.orders: append"):
        assert_dbt_models(
            small,
            python=PYTHON,
            schema=SHOP / "schema.sql",
            promises=promises,
            kinds=["appended_late"],
            trials=1,
        )


@pytest.mark.nightly
def test_a_promise_that_excludes_the_change_makes_it_information(small: Path, tmp_path: Path) -> None:
    promises = tmp_path / "promises.toml"
    promises.write_text('[models.orders_window]\npromises = ["append_only", "in_order"]\n')
    words = ("--schema", str(SHOP / "schema.sql"), "--promises", str(promises), "--trials", "1")
    kinds = ("--kind", "appended_late", "--kind", "deleted")
    done = dvs_dbt(small, *words, *kinds)
    assert done.exit_code == ExitCode.OK, done.output
    assert "No difference within the promises (1 model" in done.stdout


def test_a_model_that_cannot_be_built_is_not_judged(small: Path) -> None:
    (small / "models" / "wrong.sql").write_text("select * frm {{ source('raw', 'orders') }}")
    words = ("--schema", str(SHOP / "schema.sql"), "--kind", "appended", "--select", "wrong")
    done = dvs_dbt(small, *words)
    assert done.exit_code == ExitCode.UNKNOWN
    assert "Nothing can be said of wrong: it cannot be built: Runtime Error in model wrong" in done.stdout


@pytest.mark.nightly
def test_seeds_ephemeral_models_and_what_is_left_out(small: Path) -> None:
    (small / "seeds").mkdir()
    (small / "seeds" / "names.csv").write_text("id,name\n1,a\n")
    folder = small / "models" / "above"
    folder.mkdir()
    exporter = "{{ config(materialized='external', location='LEAK.csv', format='csv') }} select 1 as a"
    (folder / "exporter.sql").write_text(exporter)
    (small / "models" / "base.sql").write_text(
        "{{ config(materialized='ephemeral') }} select id, amount from {{ source('raw', 'orders') }}"
    )
    (small / "models" / "above.sql").write_text(
        "{{ config(materialized='incremental', unique_key='id') }} select b.*, n.name "
        "from {{ ref('base') }} b left join {{ ref('names') }} n on n.id = b.id"
    )
    # A source that no selected model reads needs no table.
    edited(small, "models/sources.yml", "{name: orders}", "{name: orders}, {name: more}")
    limits = Limits(seed=1, trials=2, rounds=1, budget=3600.0, workers=1)
    target = Target(small, str(PYTHON), select=("above",))
    kinds = (ChangeKind.APPENDED, ChangeKind.DELETED)
    found = search(target, limits, schema=str(SHOP / "schema.sql"), kinds=kinds)
    cells = found.answers["model.dbt_shop.above"]
    assert cells[ChangeKind.APPENDED].verdict is CellVerdict.EQUAL
    assert cells[ChangeKind.DELETED].verdict is CellVerdict.DIFFERS
    assert not (small / "LEAK.csv").exists()


@pytest.mark.nightly
def test_a_run_that_cannot_be_disturbed_is_no_pass(small: Path) -> None:
    with dbt_process(Target(small, str(PYTHON))) as dbt:
        project = opened(dbt, SHOP / "schema.sql", None, {})
        made_ready(dbt)
        source = next(each for each in project.sources.values() if each.name == "raw.orders")
        row = ("1", "NULL", "DATE '2024-01-01'", "1.0", "TIMESTAMP '2024-01-01'")
        runner = Runner(dbt, project, {})
        for stop, beside in ((999, None), (999, ())):
            start = (Put(source.id, 1, row),)
            trial = Trial(ChangeKind.FAILED_RUN, source.id, start, (Round((), stop, beside),))
            with pytest.raises(Rejected, match="ended before statement 999"):
                runner.run(trial, project.selected)


@pytest.mark.nightly
def test_a_failed_run_alone_shows_what_appended_rows_show(small: Path) -> None:
    edited(small, "models/orders_window.sql", "- interval 2 day", "+ interval 400 day")
    target, limits = Target(small, str(PYTHON)), Limits(1, 4, 2, 3600.0, 1)
    kinds = (ChangeKind.FAILED_RUN,)
    found = search(target, limits, schema=str(SHOP / "schema.sql"), kinds=kinds)
    assert not found.broken
    cell = found.answers["model.dbt_shop.orders_window"][ChangeKind.FAILED_RUN]
    assert cell.verdict is CellVerdict.DIFFERS


def edited(project: Path, file: str, old: str, new: str) -> None:
    """Replaces a text in a file of a project."""
    path = project / file
    path.write_text(path.read_text().replace(old, new))


def test_a_bad_project_is_one_line(small: Path) -> None:
    """What is wrong with a profile is in `tests/unit/dbt/test_profiles.py`."""
    edited(small, "models/orders_window.sql", "source('raw', 'orders')", "ref('nowhere')")
    done = dvs_dbt(small, "--schema", str(SHOP / "schema.sql"))
    assert done.exit_code == ExitCode.MISUSE, done.output
    assert "depends on a node named 'nowhere'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.nightly
def test_a_source_without_a_table_says_where_to_write_it(small: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.sql"
    with dbt_process(Target(small, str(PYTHON))) as dbt:
        schema.write_text("CREATE TABLE other (a INTEGER);")
        with pytest.raises(
            CampaignError, match=r"source raw.orders has no table: write CREATE TABLE orders \(..\)"
        ):
            opened(dbt, schema, None, {})
        schema.write_text("CREATE TABLE other (a INTEGER")
        with pytest.raises(CampaignError, match="syntax error"):
            opened(dbt, schema, None, {})


def test_a_python_without_dbt_says_what_to_do(small: Path) -> None:
    done = CliRunner().invoke(
        main, ["dbt", str(small), "--dbt-python", str(ROOT / ".venv" / "bin" / "python")]
    )
    assert done.exit_code == ExitCode.MISUSE
    assert "has no dbt" in done.stderr
    assert "--dbt-python" in done.stderr
    done = CliRunner().invoke(main, ["dbt", str(small), "--dbt-python", "/no/such/python"])
    assert done.exit_code == ExitCode.MISUSE
    assert "/no/such/python does not start" in done.stderr
