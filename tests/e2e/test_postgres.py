"""Scripts on a real PostgreSQL beside the model of read committed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.protocols.postgres import Beside, DifferenceKind, beside, orders, shuffled
from campaign.protocols.read_committed import random_script
from dvs_model.checking.check import Holds, Violated, check
from dvs_model.notation import render
from dvs_model.theory.names import Level
from protocols.read_committed.on_postgres.scripts import Isolation, Postgres
from protocols.read_committed.run import Run
from protocols.read_committed.script import ScriptError, script_of
from servers.own import ServerMissing
from servers.postgres import programs, started
from tests.depth import examples

TABLE = "SETUP: CREATE TABLE t (id INT, n INT)\nSETUP: INSERT INTO t VALUES (1, 0), (2, 0)\n"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    try:
        programs()
    except ServerMissing as missing:
        pytest.skip(str(missing))
    with started() as server:
        made = Postgres(server.address)
        yield made
        made.close()


def played(postgres: Postgres, script: str, isolation: Isolation = Isolation.READ_COMMITTED) -> Run:
    return postgres.run(script_of(TABLE + script), isolation)


def compared(postgres: Postgres, script: str, isolation: Isolation = Isolation.READ_COMMITTED) -> Beside:
    return beside([script_of(TABLE + script)], postgres, isolation, 1)


BOTH_COUNT = """
    T1: BEGIN
    T2: BEGIN
    T1: SELECT n FROM t WHERE id = 1
    T2: SELECT n FROM t WHERE id = 1
    T1: UPDATE t SET n = n + 1 WHERE id = 1
    T2: UPDATE t SET n = n + 1 WHERE id = 1
    T1: COMMIT
    T2: COMMIT
"""


def test_a_statement_that_waited_is_evaluated_again(postgres: Postgres) -> None:
    found = compared(postgres, BOTH_COUNT)
    assert found.examples[DifferenceKind.CONTENTS].model == "(1, 1), (2, 0)"
    assert found.examples[DifferenceKind.CONTENTS].postgres == "(1, 2), (2, 0)"
    # T2 writes over the version that T1 has left, and has read it, so that PL-2 holds.
    assert "w2(t_a_2" in render(found.last[0].history)
    assert found.levels["PL-2"] == "holds"
    assert found.levels["PL-2+"] == "violated"


def test_repeatable_read_refuses_what_read_committed_writes_over(postgres: Postgres) -> None:
    found = compared(postgres, BOTH_COUNT, Isolation.REPEATABLE_READ)
    assert "could not serialize access" in found.examples[DifferenceKind.FAILS_THERE].postgres
    assert found.levels["PL-SI"] == "holds"
    assert not found.anomalies


def test_a_row_that_no_longer_fits_after_the_wait_is_left_and_was_read(postgres: Postgres) -> None:
    script = """
        T1: BEGIN
        T1: UPDATE t SET n = 5 WHERE id = 1
        T2: UPDATE t SET n = 9 WHERE n = 0 AND id = 1
        T1: COMMIT
    """
    done = played(postgres, script)
    assert sorted(map(str, done.contents["t"])) == ["(1, 5)", "(2, 0)"]
    # T2 has seen T1's version, which its condition does not select.
    assert "w2(t n = 0 AND id = 1: t_a_1, t_b_0;)" in render(done.history)


def test_rows_are_locked_there_and_partitions_in_the_model(postgres: Postgres) -> None:
    script = """
        T1: BEGIN
        T1: UPDATE t SET n = 5 WHERE id = 1
        T2: UPDATE t SET n = 5 WHERE id = 2
        T1: COMMIT
    """
    assert set(compared(postgres, script).examples) == {DifferenceKind.WAITS_HERE}


def test_an_error_ends_the_transaction_there(postgres: Postgres) -> None:
    script = """
        T1: BEGIN
        T1: UPDATE t SET n = 5 WHERE id = 1
        T1: UPDATE t SET n = CAST('x' AS INT) WHERE id = 1
        T1: COMMIT
    """
    found = compared(postgres, script)
    assert found.examples[DifferenceKind.CONTENTS].model == "(1, 5), (2, 0)"
    assert found.examples[DifferenceKind.CONTENTS].postgres == "(1, 0), (2, 0)"


def test_a_deadlock_ends_one_of_the_transactions(postgres: Postgres) -> None:
    script = """
        T1: BEGIN
        T2: BEGIN
        T1: UPDATE t SET n = 1 WHERE id = 1
        T2: UPDATE t SET n = 2 WHERE id = 2
        T1: UPDATE t SET n = 1 WHERE id = 2
        T2: UPDATE t SET n = 2 WHERE id = 1
        T1: COMMIT
        T2: COMMIT
    """
    done = played(postgres, script)
    assert sum("deadlock detected" in line.outcome for line in done.lines) == 1
    assert sorted(map(str, done.contents["t"])) in (["(1, 1)", "(2, 1)"], ["(1, 2)", "(2, 2)"])


def test_lock_timeout_0_does_not_wait(postgres: Postgres) -> None:
    script = """
        T1: BEGIN
        T1: UPDATE t SET n = 1 WHERE id = 1
        T2: ALTER SESSION SET LOCK_TIMEOUT = 0
        T2: UPDATE t SET n = 2 WHERE id = 1
        T1: COMMIT
    """
    outcomes = [line.outcome for line in played(postgres, script).lines if line.session == "T2"]
    assert "lock timeout" in outcomes[-1]


def test_deleted_rows_are_dead_in_what_others_see(postgres: Postgres) -> None:
    script = """
        T1: DELETE FROM t WHERE id = 2
        T2: SELECT n FROM t
        T3: BEGIN
        T3: INSERT INTO t VALUES (3, 3)
        T3: DELETE FROM t WHERE id = 3
        T3: SELECT n FROM t
        T3: COMMIT
    """
    done = played(postgres, script)
    text = render(done.history)
    assert "r2(t all: t_a_0, t_b_1; t_a_0)" in text
    assert "w3(t_b_dead)" not in text
    assert isinstance(check(done.history).levels[Level.PL_3], Holds)


def test_a_statement_that_cannot_be_read_ends_the_transaction_there(postgres: Postgres) -> None:
    for wrong in ("UPDATE nowhere SET n = 5", "SELECT FROM WHERE"):
        script = f"""
            T1: BEGIN
            T1: UPDATE t SET n = 5 WHERE id = 1
            T1: {wrong}
            T1: COMMIT
        """
        found = compared(postgres, script)
        assert found.examples[DifferenceKind.CONTENTS].postgres == "(1, 0), (2, 0)"
        # Nothing commits, so nothing is known of a level.
        assert set(found.levels.values()) == {"unknown"}


def test_a_parameter_after_an_error_is_refused_there(postgres: Postgres) -> None:
    script = """
        T1: BEGIN
        T1: SELECT n FROM nowhere
        T1: ALTER SESSION SET LOCK_TIMEOUT = 0
        T1: COMMIT
    """
    said = [line.outcome for line in played(postgres, script).lines]
    assert "current transaction is aborted" in said[2]


def test_select_for_update_reads_what_it_waited_for(postgres: Postgres) -> None:
    script = """
        T1: BEGIN
        T2: BEGIN
        T1: SELECT n FROM t WHERE id = 1 FOR UPDATE
        T2: SELECT n FROM t WHERE id = 1 FOR UPDATE
        T1: UPDATE t SET n = 1 WHERE id = 1
        T1: COMMIT
        T2: UPDATE t SET n = 2 WHERE id = 1
        T2: COMMIT
    """
    found = compared(postgres, script)
    assert not found.last[2]
    assert found.levels["PL-3"] == "holds"
    assert "r2(t_a_1)" in render(found.last[0].history)
    assert "leave out FOR UPDATE" in found.examples[DifferenceKind.FAILS_HERE].model


SCRIPTS = examples(25)


def test_random_scripts_keep_what_postgresql_promises(postgres: Postgres) -> None:
    random = Random(11)
    lower = 0
    for _ in range(SCRIPTS):
        script = shuffled(random_script(random, dynamic=0), random)
        committed = check(postgres.run(script, Isolation.READ_COMMITTED).history).levels
        assert isinstance(committed[Level.PL_2], Holds), script
        lower += isinstance(committed[Level.PL_SI], Violated)
        repeatable = postgres.run(script, Isolation.REPEATABLE_READ).history
        for level in (Level.PL_2_PLUS, Level.PL_SI):
            verdict = check(repeatable).levels[level]
            assert isinstance(verdict, Holds) or not repeatable.events, (script, verdict)
    # The check can fail: READ COMMITTED does not keep PL-SI.
    assert lower > 0


def test_orders_keep_the_order_within_each_session() -> None:
    script = script_of(TABLE + "T1: BEGIN\nT1: COMMIT\nT2: SELECT n FROM t\n")
    found = [[step.line for step in ordered.steps] for ordered in orders(script)]
    assert found == [[3, 4, 5], [3, 5, 4], [5, 3, 4]]


def test_what_postgresql_does_not_run_is_refused_with_its_line(postgres: Postgres) -> None:
    for line in ("CLOCK: 60", "T1: DISCONNECT", "T1: CALL p()", "T1: CREATE TABLE u (a INT)"):
        with pytest.raises(ScriptError, match=r"line 3: .* is not run on PostgreSQL"):
            played(postgres, f"{line}\nT1: SELECT n FROM t")


def test_the_command_shows_both(tmp_path: Path, postgres: Postgres) -> None:
    file = tmp_path / "script.txt"
    file.write_text(TABLE + BOTH_COUNT, encoding="utf-8")
    command = ["protocol", "read-committed", str(file), "--postgres", "repeatable-read"]
    shown = CliRunner().invoke(main, command)
    assert shown.exit_code == 0
    assert "fails only in PostgreSQL: T2: UPDATE" in shown.output
    explored = CliRunner().invoke(main, [*command, "--explore", "--most", "3", "--json"])
    assert explored.exit_code == 3
    document = json.loads(explored.output)
    assert document["orders"] == 3
    assert document["levels"]["PL-SI"] == "holds"
    # One of many orders is not all of them.
    one = CliRunner().invoke(main, [*command, "--explore", "--most", "1"])
    assert one.exit_code == 3
    assert "there are more" in one.output


def test_without_a_server_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Path:
        raise ServerMissing("there is no PostgreSQL server; install one: apt-get install postgresql")

    monkeypatch.setattr("servers.postgres.programs", missing)
    file = tmp_path / "script.txt"
    file.write_text(TABLE + "T1: SELECT n FROM t", encoding="utf-8")
    shown = CliRunner().invoke(
        main, ["protocol", "read-committed", str(file), "--postgres", "read-committed"]
    )
    assert shown.exit_code == 2
    assert "apt-get install postgresql" in shown.output
