"""The model of read committed, sentence by sentence of Snowflake's page on transactions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.faults.read_committed import READ_COMMITTED_FAULTS
from campaign.protocols.read_committed import explore, explore_ddl, random_script, search_scripts
from dvs_model.checking.check import Holds, Violated, check
from dvs_model.notation import parse, render
from dvs_model.theory.names import Level
from protocols.read_committed.evaluate.duck import DuckEvaluator
from protocols.read_committed.machine import Machine
from protocols.read_committed.run import Run, interleavings, run
from protocols.read_committed.script import Script, ScriptError, script_of
from protocols.read_committed.state import Transaction
from tests.depth import examples

TABLE = "SETUP: CREATE TABLE t (id INT, n INT)\nSETUP: INSERT INTO t VALUES (1, 0), (2, 0)\n"


def played(script: str) -> Run:
    return run(script_of(TABLE + script), DuckEvaluator())


def outcomes(script: str, session: str) -> list[str]:
    return [line.outcome for line in played(script).lines if line.session == session]


def contents(script: str) -> list[tuple[object, ...]]:
    return sorted(played(script).contents["t"], key=str)


def test_a_statement_sees_only_what_was_committed_before_it_began() -> None:
    script = """
        T1: BEGIN
        T1: UPDATE t SET n = 5 WHERE id = 1
        T2: SELECT n FROM t WHERE id = 1
        T1: COMMIT
        T2: SELECT n FROM t WHERE id = 1
    """
    assert outcomes(script, "T2") == ["returns 0; committed", "returns 5; committed"]


def test_two_statements_of_one_transaction_may_see_different_data() -> None:
    script = """
        T2: BEGIN
        T2: SELECT n FROM t WHERE id = 1
        T1: UPDATE t SET n = 5 WHERE id = 1
        T2: SELECT n FROM t WHERE id = 1
        T2: COMMIT
    """
    assert outcomes(script, "T2")[1:3] == ["returns 0", "returns 5"]


def test_a_statement_sees_the_changes_of_its_own_transaction() -> None:
    script = """
        T1: BEGIN
        T1: INSERT INTO t VALUES (3, 7)
        T1: UPDATE t SET n = n + 1 WHERE id = 3
        T1: SELECT n FROM t WHERE id = 3
        T1: ROLLBACK
    """
    assert "returns 8" in outcomes(script, "T1")
    assert contents(script) == [(1, 0), (2, 0)]


def test_a_failing_statement_is_rolled_back_and_the_transaction_stays_open() -> None:
    script = """
        T1: BEGIN
        T1: UPDATE t SET n = 1 WHERE id = 1
        T1: UPDATE t SET n = CAST('x' AS INT)
        T1: COMMIT
    """
    assert outcomes(script, "T1")[2].endswith("T1 stays open")
    assert contents(script) == [(1, 1), (2, 0)]


def test_transaction_abort_on_error() -> None:
    script = """
        T1: ALTER SESSION SET TRANSACTION_ABORT_ON_ERROR = TRUE
        T1: BEGIN
        T1: UPDATE t SET n = 1 WHERE id = 1
        T1: UPDATE t SET n = CAST('x' AS INT)
        T1: COMMIT
    """
    assert outcomes(script, "T1")[3].endswith("T1 is rolled back")
    assert outcomes(script, "T1")[4] == "fails: no transaction is open here"
    assert contents(script) == [(1, 0), (2, 0)]


def test_ddl_commits_the_open_transaction() -> None:
    script = """
        T1: BEGIN
        T1: UPDATE t SET n = 1 WHERE id = 1
        T1: CREATE TABLE u (a INT)
        T1: ROLLBACK
    """
    assert outcomes(script, "T1")[2:] == [
        "commits T1 first",
        "done, and committed",
        "fails: no transaction is open here",
    ]
    assert contents(script) == [(1, 1), (2, 0)]


def test_inserts_are_not_blocked_and_changes_of_one_table_are() -> None:
    script = """
        T1: BEGIN
        T1: UPDATE t SET n = 1 WHERE id = 1
        T2: INSERT INTO t VALUES (3, 3)
        T3: DELETE FROM t WHERE id = 2
        T1: COMMIT
    """
    assert outcomes(script, "T2") == ["1 rows; committed"]
    assert outcomes(script, "T3") == ["waits", "1 rows; committed"]
    [waits] = [line for line in played(script).lines if line.waits_for]
    assert waits.waits_for == ("T1",)


def test_a_lock_timeout_of_0_gives_up_at_once() -> None:
    script = """
        T2: ALTER SESSION SET LOCK_TIMEOUT = 0
        T1: BEGIN
        T1: UPDATE t SET n = 1
        T2: UPDATE t SET n = 2
        T1: COMMIT
    """
    assert outcomes(script, "T2")[1] == "fails: T1 holds a lock, and LOCK_TIMEOUT is 0; T2 is rolled back"
    assert contents(script) == [(1, 1), (2, 1)]


def test_a_statement_gives_up_after_its_lock_timeout() -> None:
    script = """
        T2: ALTER SESSION SET LOCK_TIMEOUT = 60
        T1: BEGIN
        T1: UPDATE t SET n = 1
        T2: BEGIN
        T2: UPDATE t SET n = 2
        CLOCK: 59
        CLOCK: 1
        T1: COMMIT
        T2: COMMIT
    """
    assert outcomes(script, "T2")[2:4] == ["waits", "gives up: no lock for 60 s; T2 stays open"]
    assert contents(script) == [(1, 1), (2, 1)]


DEADLOCK = """
    SETUP: CREATE TABLE u (a INT)
    SETUP: INSERT INTO u VALUES (1)
    T1: BEGIN
    T1: UPDATE t SET n = 1
    T2: BEGIN
    T2: UPDATE u SET a = 2
    T1: UPDATE u SET a = 1
    T2: UPDATE t SET n = 2
    T2: ROLLBACK
    T1: COMMIT
"""


def test_the_most_recent_statement_of_a_deadlock_is_its_victim() -> None:
    done = outcomes(DEADLOCK, "T2")
    assert done[2:4] == ["waits", "deadlock: the statement is rolled back; T2 stays open"]
    assert contents(DEADLOCK) == [(1, 1), (2, 1)]


def test_autocommitted_statements_never_deadlock() -> None:
    script = script_of(TABLE + "T1: UPDATE t SET n = 1\nT2: UPDATE t SET n = 2\nT3: DELETE FROM t")
    found = explore(script)
    assert found.orders == 6
    assert found.levels["PL-3"] == "holds"


def test_a_lost_session_keeps_its_locks_until_its_owner_aborts_it() -> None:
    script = """
        T1: LOGIN ann
        T1: BEGIN
        T1: UPDATE t SET n = 1
        T1: DISCONNECT
        T2: LOGIN bob
        T2: SELECT SYSTEM$ABORT_TRANSACTION(T1)
        T3: UPDATE t SET n = 3
        T4: LOGIN ann
        T4: SELECT SYSTEM$ABORT_TRANSACTION(T1)
    """
    assert outcomes(script, "T2")[1].startswith("fails: T1 belongs to ann")
    assert outcomes(script, "T3") == ["waits", "2 rows; committed"]
    assert contents(script) == [(1, 3), (2, 3)]


def test_an_administrator_aborts_any_transaction() -> None:
    script = """
        T1: BEGIN
        T1: UPDATE t SET n = 1
        T2: LOGIN root ADMIN
        T2: SELECT SYSTEM$ABORT_TRANSACTION(T1)
    """
    assert outcomes(script, "T2")[1] == "T1 is rolled back"
    assert contents(script) == [(1, 0), (2, 0)]


def test_a_closed_session_rolls_back_and_an_idle_transaction_after_four_hours() -> None:
    assert contents("T1: BEGIN\nT1: UPDATE t SET n = 1\nT1: CLOSE") == [(1, 0), (2, 0)]
    idle = "T1: BEGIN\nT1: UPDATE t SET n = 1\nCLOCK: 14399\nCLOCK: 1\nT1: COMMIT"
    assert outcomes(idle, "T1")[-2:] == ["rolled back: idle", "fails: no transaction is open here"]


def test_autocommit_off_leaves_a_transaction_open() -> None:
    script = "T1: ALTER SESSION SET AUTOCOMMIT = FALSE\nT1: UPDATE t SET n = 1\n"
    assert contents(script) == [(1, 0), (2, 0)]
    assert contents(script + "T1: COMMIT") == [(1, 1), (2, 1)]


def test_a_transaction_in_a_procedure_is_one_of_its_own() -> None:
    script = """
        SETUP: CREATE PROCEDURE p() AS 'BEGIN; INSERT INTO t VALUES (9, 9); COMMIT'
        SETUP: CREATE PROCEDURE q() AS 'BEGIN; INSERT INTO t VALUES (8, 8)'
        T1: BEGIN
        T1: INSERT INTO t VALUES (7, 7)
        T1: CALL p()
        T1: CALL q()
        T1: ROLLBACK
    """
    assert contents(script) == [(1, 0), (2, 0), (9, 9)]
    assert "T3 rolled back: left open" in outcomes(script, "T1")


@pytest.mark.parametrize(
    "script",
    [
        "T1: DELETE FROM t WHERE id = 1\nT2: SELECT n FROM t\nT3: UPDATE t SET n = 2\nT4: SELECT n FROM t",
        "T1: BEGIN\nT1: DELETE FROM t WHERE id = 1\nT1: SELECT * FROM t\nT1: COMMIT\nT2: SELECT n FROM t",
        "T1: DELETE FROM t\nT1: INSERT INTO t VALUES (1, 1)\nT2: SELECT * FROM t\nT1: DELETE FROM t",
        "T1: INSERT INTO t VALUES (3, 3)\nT2: UPDATE t SET n = 9 WHERE id = 3\nT1: DELETE FROM t WHERE n = 9",
    ],
)
def test_one_transaction_after_the_other_is_serializable(script: str) -> None:
    assert isinstance(check(played(script).history).levels[Level.PL_3], Holds)


def test_a_statement_that_waited_sees_what_was_committed_when_it_began() -> None:
    script = """
        T1: BEGIN
        T1: UPDATE t SET n = n + 1 WHERE id = 1
        T2: UPDATE t SET n = n + 1 WHERE id = 1
        T1: COMMIT
    """
    assert contents(script) == [(1, 1), (2, 0)]


SCRIPTS = {
    "lost update": """
        T1: BEGIN
        T1: SELECT n FROM t WHERE id = 1
        T1: UPDATE t SET n = 1 WHERE id = 1
        T1: COMMIT
        T2: BEGIN
        T2: SELECT n FROM t WHERE id = 1
        T2: UPDATE t SET n = 1 WHERE id = 1
        T2: COMMIT
    """,
    "non-repeatable read": """
        T1: BEGIN
        T1: SELECT n FROM t WHERE id = 1
        T1: SELECT n FROM t WHERE id = 1
        T1: COMMIT
        T2: UPDATE t SET n = 1 WHERE id = 1
    """,
    "phantom": """
        T1: BEGIN
        T1: SELECT id FROM t WHERE n = 0
        T1: SELECT id FROM t WHERE n = 0
        T1: COMMIT
        T2: INSERT INTO t VALUES (3, 0)
    """,
    "read skew": """
        T1: BEGIN
        T1: SELECT n FROM t WHERE id = 1
        T1: SELECT n FROM t WHERE id = 2
        T1: COMMIT
        T2: UPDATE t SET n = 1
    """,
    "write skew": """
        SETUP: CREATE TABLE u (a INT)
        SETUP: INSERT INTO u VALUES (0)
        T1: BEGIN
        T1: SELECT n FROM t WHERE id = 1
        T1: UPDATE u SET a = 1
        T1: COMMIT
        T2: BEGIN
        T2: SELECT a FROM u
        T2: UPDATE t SET n = 1 WHERE id = 1
        T2: COMMIT
    """,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_pl_2_holds_in_every_order_and_the_anomaly_is_found(name: str) -> None:
    found = explore(script_of(TABLE + SCRIPTS[name]))
    assert found.complete
    assert found.levels["PL-2"] == "holds"
    assert found.levels["PL-3"] == "violated"
    assert name in found.first


BREAKS = {
    "dirty-statement-read": """
        T1: BEGIN
        T1: UPDATE t SET n = 1 WHERE id = 1
        T1: ROLLBACK
        T2: SELECT n FROM t WHERE id = 1
    """,
    "no-locks": """
        T1: BEGIN
        T1: UPDATE t SET n = 1 WHERE id = 1
        T1: UPDATE t SET n = 1 WHERE id = 2
        T1: COMMIT
        T2: BEGIN
        T2: UPDATE t SET n = 2 WHERE id = 2
        T2: UPDATE t SET n = 2 WHERE id = 1
        T2: COMMIT
    """,
    "stale-upstream": """
        SETUP: CREATE TABLE u (m INT)
        SETUP: INSERT INTO u VALUES (0)
        SETUP: CREATE DYNAMIC TABLE d AS SELECT n FROM t WHERE id = 1
        SETUP: CREATE DYNAMIC TABLE e AS SELECT d.n + u.m AS both FROM d, u
        R: ALTER DYNAMIC TABLE d REFRESH
        R: ALTER DYNAMIC TABLE e REFRESH
        T1: BEGIN
        T1: UPDATE t SET n = 1 WHERE id = 1
        T1: UPDATE u SET m = 1
        T1: COMMIT
        T2: SELECT * FROM e
    """,
}
COUNTED = """
    T1: BEGIN
    T1: UPDATE t SET n = 1 WHERE id = 1
    T1: ROLLBACK
    T2: BEGIN
    T2: INSERT INTO t VALUES (3, 3)
    T2: COMMIT
"""
DDL_FAULTS = ("ddl-leaves-open", "ddl-rolls-back", "ddl-commits-others")


@pytest.mark.parametrize("seed", range(examples(6)))
def test_pl_2_holds_in_every_order_of_random_sessions(seed: int) -> None:
    """Two or three transactions of one to three statements over two tables."""
    script = random_script(Random(seed))
    found = explore(script, most=150)
    assert found.levels["PL-1"] == "holds"
    assert found.levels["PL-2"] == "holds"


BROKEN = {
    "dirty-statement-read": "",
    "no-locks": "have both changed row",
    "stale-upstream": "e was refreshed in T",
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_planted_mistake_is_found(fault: str) -> None:
    script = script_of(TABLE + BREAKS[fault])
    right, wrong = explore(script), explore(script, READ_COMMITTED_FAULTS[fault].model)
    assert right.levels["PL-2"] == "holds"
    if fault == "dirty-statement-read":
        assert wrong.levels["PL-2"] == "violated"
        assert "dirty read" in wrong.first
        return
    if fault == "stale-upstream":
        # The dynamic table shows one source as it was before a transaction, the other one as it was after.
        assert right.levels["PL-2+"] == "holds"
        assert wrong.levels["PL-2+"] == "violated"
    # No level falls without locks, since rows become visible at the commit; but laws of steps are broken.
    assert right.broken == {}
    assert [law for law in wrong.broken if BROKEN[fault] in law] != []


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "lost.txt"
    file.write_text(TABLE + SCRIPTS["lost update"], encoding="utf-8")
    done = CliRunner().invoke(main, ["protocol", "read-committed", str(file), "--explore", "--json"])
    document = json.loads(done.output)
    assert (done.exit_code, document["levels"]["PL-2"], document["complete"]) == (0, "holds", True)
    assert document["anomalies"][0]["name"] == "lost update"
    once = CliRunner().invoke(main, ["protocol", "read-committed", str(file)])
    assert once.exit_code == 0
    assert "PL-2 holds" in once.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T1 BEGIN", "line 1: 'T1 BEGIN' names no session"),
        ("T1: EXPLODE t", "line 1: 'EXPLODE t' is no statement"),
        ("CLOCK: soon", "line 1: CLOCK takes a whole number"),
        ("T1: BEGIN\nSETUP: CREATE TABLE u (a INT)", "line 2: SETUP stands before"),
        ("", "has no statement of a session"),
    ],
)
def test_malformed_scripts(text: str, message: str) -> None:
    with pytest.raises(ScriptError, match=message):
        script_of(text)


def test_two_inserts_that_count_their_own_table_are_write_skew() -> None:
    script = """
        T1: BEGIN
        T2: BEGIN
        T1: INSERT INTO t SELECT 5, COUNT(*) FROM t
        T2: INSERT INTO t VALUES (6, (SELECT COUNT(*) FROM t))
        T1: COMMIT
        T2: COMMIT
    """
    assert isinstance(check(played(script).history).levels[Level.PL_3], Violated)


@pytest.mark.parametrize(
    ("statement", "outcome"),
    [
        ("UPDATE t SET n = 1; UPDATE t SET n = 2", "is 2 statements"),
        ("CREATE TABLE t (a INT)", "there is a table t already"),
        ("DROP TABLE u", "there is no table u"),
        ("CREATE TABLE u (a ARRAY)", "is of a type that the model does not hold"),
        ("CALL p()", "more than 16 deep"),
        ("ALTER SESSION SET LOCK_TIMEOUT = ²", "no statement|no value"),
    ],
)
def test_statements_that_fail_are_one_line(statement: str, outcome: str) -> None:
    script = f"SETUP: CREATE PROCEDURE p() AS 'CALL p()'\nT1: {statement}"
    try:
        found = " ".join(outcomes(script, "T1"))
    except ScriptError as error:
        found = str(error)
    assert re.search(outcome, found)
    assert contents(script) == [(1, 0), (2, 0)] if "²" not in statement else True


def test_dropped_tables_and_stars() -> None:
    script = (
        "T1: CREATE TABLE u (a INT)\nT1: DROP TABLE u\nT1: CREATE TABLE u (b STRING)\nT2: SELECT t.* FROM t"
    )
    assert outcomes(script, "T2") == ["returns (1, 0), (2, 0); committed"]
    assert outcomes("T1: SELECT * FROM (SELECT id, n FROM t) x", "T1") == [
        "returns (1, 0), (2, 0); committed"
    ]


def test_a_statement_that_wakes_at_the_end_is_closed_too() -> None:
    script = "T2: BEGIN\nT1: BEGIN\nT1: UPDATE t SET n = 1\nT2: UPDATE t SET n = 2"
    assert contents(script) == [(1, 0), (2, 0)]


def test_an_unknown_parameter_or_table_fails_the_statement() -> None:
    assert outcomes("T1: ALTER SESSION SET SPEED = 9", "T1")[0].startswith("fails: no parameter SPEED")
    assert outcomes("T1: SELECT * FROM nowhere", "T1")[0].startswith("fails: there is no table nowhere")


DYNAMIC = """SETUP: CREATE TABLE t (id INT, n INT)
SETUP: INSERT INTO t VALUES (1, 0)
SETUP: CREATE TABLE u (id INT, m INT)
SETUP: INSERT INTO u VALUES (1, 0)
SETUP: CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT n FROM t
SETUP: CREATE DYNAMIC TABLE e AS SELECT d.n + u.m AS both FROM d, u
R: ALTER DYNAMIC TABLE e REFRESH
R: BEGIN
R: ALTER DYNAMIC TABLE {refreshed} REFRESH
R: COMMIT
T1: UPDATE t SET n = 1
T1: UPDATE u SET m = 1
T2: SELECT * FROM {read}
"""


def as_of_the_refresh(text: str) -> str:
    """A history in which each reader starts at the data timestamp of the dynamic table that it reads."""
    for reader, table, refresh in re.findall(r"\br(\d+)\(([de])(\d+)\)", text):
        text = text.replace(f" s{reader} ", " ", 1)
        text = re.sub(rf"(d{refresh}\({table}{refresh} \|[^)]*\))", rf"\1 s{reader}", text, count=1)
    return text


@pytest.mark.parametrize(("refreshed", "read"), [("e", "e"), ("d", "d"), ("d", "e"), ("e", "d")])
def test_reading_one_dynamic_table_is_snapshot_isolation(refreshed: str, read: str) -> None:
    script = script_of(DYNAMIC.format(refreshed=refreshed, read=read))
    delayed = 0
    for done in interleavings(script, DuckEvaluator()):
        text = render(done.history)
        moved = check(parse(as_of_the_refresh(text)))
        assert isinstance(moved.levels[Level.PL_SI], Holds), text
        # The snapshot is the one of the data timestamp, not of the moment of the query.
        delayed += isinstance(check(done.history).levels[Level.PL_SI], Violated)
    assert delayed > 20


@pytest.mark.parametrize("read", ["d, e", "e, t", "d, t"])
def test_reading_several_tables_is_read_committed(read: str) -> None:
    found = explore(script_of(DYNAMIC.format(refreshed="d", read=read)))
    assert found.levels["PL-2"] == "holds"
    assert found.levels["PL-2+"] == "violated"


def test_a_refresh_publishes_with_its_transaction_what_it_read_before() -> None:
    script = """
        R: ALTER DYNAMIC TABLE d REFRESH
        T1: UPDATE t SET n = 1 WHERE id = 1
        R: BEGIN
        R: ALTER DYNAMIC TABLE d REFRESH
        T1: UPDATE t SET n = 2 WHERE id = 1
        T2: SELECT * FROM d
        R: COMMIT
        T2: SELECT * FROM d
    """
    setup = "SETUP: CREATE DYNAMIC TABLE d AS SELECT SUM(n) AS s FROM t\n"
    assert outcomes(setup + script, "T2") == ["returns 0; committed", "returns 1; committed"]
    assert played(setup + script).contents["d"] == ((1,),)


def test_one_refresh_of_a_table_waits_for_another_and_takes_the_later_timestamp() -> None:
    script = """
        R: BEGIN
        R: ALTER DYNAMIC TABLE d REFRESH
        S: ALTER DYNAMIC TABLE d REFRESH
        T1: UPDATE t SET n = 7 WHERE id = 1
        R: COMMIT
        T2: SELECT * FROM d
    """
    setup = "SETUP: CREATE DYNAMIC TABLE d AS SELECT SUM(n) AS s FROM t\n"
    assert outcomes(setup + script, "S") == ["waits", "refreshes d; committed"]
    assert outcomes(setup + script, "T2") == ["returns 7; committed"]


def test_what_a_dynamic_table_refuses() -> None:
    setup = "SETUP: CREATE DYNAMIC TABLE d AS SELECT n FROM t\n"
    script = """
        T1: SELECT * FROM d
        T1: INSERT INTO d VALUES (1)
        T1: ALTER DYNAMIC TABLE nothing REFRESH
        T1: BEGIN
        T1: ALTER DYNAMIC TABLE d REFRESH
        T1: ALTER DYNAMIC TABLE d REFRESH
        T1: CREATE DYNAMIC TABLE t AS SELECT 1 AS n
        T1: DROP TABLE d
    """
    found = outcomes(setup + script, "T1")
    assert "d is not initialized; refresh it first" in found[0]
    assert "d is a dynamic table; only its refresh writes it" in found[1]
    assert "no dynamic table nothing; there are: d" in found[2]
    assert "refreshed in this transaction already" in found[5]
    # DDL commits the transaction first, which is a line of its own.
    assert "there is a table t already" in found[7]
    assert "d is a dynamic table; the model does not drop those" in found[8]


def test_a_dropped_table_is_gone() -> None:
    script = "T1: DROP TABLE t\nT1: SELECT * FROM t\nT1: INSERT INTO t VALUES (1, 1)"
    assert [outcome.partition(";")[0] for outcome in outcomes(script, "T1")[1:]] == [
        "fails: there is no table t",
        "fails: there is no table t",
    ]


@pytest.mark.parametrize("fault", DDL_FAULTS)
def test_a_mistake_of_ddl_is_found_in_a_script_without_any(fault: str) -> None:
    script = script_of(TABLE + COUNTED)
    assert explore_ddl(script, runs=40) == {}
    assert explore(script, READ_COMMITTED_FAULTS[fault].model).broken == {}, "no history shows it"
    assert explore_ddl(script, READ_COMMITTED_FAULTS[fault].model, runs=40)
    assert search_scripts(1, 6, READ_COMMITTED_FAULTS[fault].model, most=12).broken


def test_random_sessions_with_ddl_keep_every_law_of_steps() -> None:
    found = search_scripts(5, 5, most=8)
    assert (found.scripts, found.broken) == (5, ())


@pytest.mark.parametrize(
    ("step", "law"),
    [
        ("T1: COMMIT", "T1: COMMIT: T1 must be committed by it"),
        ("T1: ROLLBACK", "T1: ROLLBACK: T1 must be rolled back by it"),
    ],
)
def test_a_machine_that_ends_no_transaction_breaks_a_law(
    step: str, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = script_of(TABLE + f"T1: BEGIN\nT1: UPDATE t SET n = 1 WHERE id = 1\n{step}")
    assert run(script, DuckEvaluator()).broken == ()
    monkeypatch.setattr(Machine, "_end_here", lambda *_: None)
    assert run(script, DuckEvaluator()).broken == (law,)


def test_a_machine_that_loses_rows_breaks_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    def publish(machine: Machine, transaction: Transaction) -> None:
        machine.committed = {name: {} for name in machine.committed}

    script = script_of(TABLE + "T1: BEGIN\nT1: UPDATE t SET n = 1 WHERE id = 1\nT1: CREATE TABLE u (a INT)")
    playing = run(script, DuckEvaluator())
    assert playing.broken == ()
    set_up = Machine.set_up

    def set_up_then_lose(machine: Machine, read: Script) -> None:
        set_up(machine, read)
        monkeypatch.setattr(Machine, "_publish", publish)

    monkeypatch.setattr(Machine, "set_up", set_up_then_lose)
    (law,) = run(script, DuckEvaluator()).broken
    assert law.startswith("T1: CREATE TABLE u (a INT): of table t row t_")


def test_a_script_that_commits_nothing_is_undecided(tmp_path: Path) -> None:
    script = tmp_path / "nothing.txt"
    script.write_text(f"{TABLE}T1: BEGIN\nT1: SELECT * FROM t\nT1: ROLLBACK\n", encoding="utf-8")
    once = CliRunner().invoke(main, ["protocol", "read-committed", str(script)])
    assert once.exit_code == 3
    assert "undecided: no transaction commits" in once.output
    assert explore(script_of(script.read_text(encoding="utf-8"))).levels["PL-2"] == "unknown"


def test_explore_finds_a_mistake_of_ddl_by_the_command(tmp_path: Path) -> None:
    script = tmp_path / "script.txt"
    script.write_text(TABLE + COUNTED, encoding="utf-8")
    command = ["protocol", "read-committed", str(script), "--explore", "--json"]
    assert CliRunner().invoke(main, command).exit_code == 0
    wrong = CliRunner().invoke(main, [*command, "--fault", "ddl-rolls-back"])
    assert wrong.exit_code == 1
    assert json.loads(wrong.output)["broken"]


PROCEDURES = {
    "of a lost session": """
        SETUP: CREATE TABLE u (a INT)
        SETUP: CREATE PROCEDURE p() AS 'UPDATE t SET n = n + 1; CALL SYSTEM$ABORT_TRANSACTION(T3)'
        T1: BEGIN
        T1: UPDATE t SET n = 7
        T3: BEGIN
        T3: INSERT INTO u VALUES (4)
        T3: DISCONNECT
        T2: CALL p()
        T1: COMMIT
    """,
    "that drops a table": """
        SETUP: CREATE TABLE u (a INT)
        SETUP: CREATE PROCEDURE p() AS 'UPDATE t SET n = n + 1; DROP TABLE u'
        T1: BEGIN
        T1: UPDATE t SET n = 7
        T2: CALL p()
        T1: COMMIT
    """,
}


@pytest.mark.parametrize("script", PROCEDURES.values(), ids=PROCEDURES)
def test_what_a_procedure_does_when_it_wakes_is_no_mistake_of_the_step(script: str) -> None:
    """A procedure that waited goes on in the step of another session, and may end or drop anything."""
    assert played(script).broken == ()
    assert explore(script_of(TABLE + script), most=40).broken == {}


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE IF EXISTS u",
        "CREATE TABLE IF NOT EXISTS w (a INT)",
        'DROP TABLE "u"',
        "CREATE TABLE w AS SELECT * FROM t",
        "CREATE TABLE w (a NOTYPE)",
    ],
)
def test_ddl_in_other_words_breaks_no_law(statement: str) -> None:
    script = f"SETUP: CREATE TABLE u (id INT)\nT1: UPDATE t SET n = 2\nT1: {statement}\n"
    assert played(script).broken == ()
