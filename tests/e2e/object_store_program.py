"""What the processes of `test_object_store` do: `life`, `first` or `second`, and the place of the account."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.errors import DynamicTablesError
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.session import Settings, open_session
from dynamic_tables.store.delta import DeltaStore
from dynamic_tables.store.spark.log_store import create_once

QUERY = "SELECT k, SUM(v) AS s FROM r GROUP BY k"


def say(what: object) -> None:
    """Prints a line at once, for the test that reads it."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def rows(account: Account, name: str) -> list[list[Any]]:
    """The rows of a table, sorted."""
    return sorted(list(row) for row in account.read(name).collect())


def refused(act: Callable[[], object]) -> str:
    """The text of the error that something raises."""
    try:
        act()
    except DynamicTablesError as error:
        return str(error)
    return "nothing was refused"


def life(spark: SparkSession, place: str) -> dict[str, Any]:
    """One account with all that happens to it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        account = Account.open(place, spark, WallClock())
    found: dict[str, Any] = {"said": [str(each.message) for each in said]}
    account.create_base_table("r", {"k": "INT", "v": "INT"})
    account.execute("INSERT INTO r VALUES (1, 1), (1, 2), (2, 5)")
    account.create_dynamic_table("t", QUERY)
    account.execute("INSERT INTO r VALUES (2, 7)")
    account.refresh("t")
    account.refresh("t")
    account.execute("UPDATE r SET v = 9 WHERE k = 1")
    account.refresh("t")
    account.create_dynamic_table("whole", "SELECT MAX(v) AS v FROM r", refresh_mode="FULL")
    account.execute("UPDATE r SET v = v WHERE k = 1")
    account.refresh("whole")
    actions = [each.action.value for name in ("t", "whole") for each in account.describe(name).refreshes]
    found["actions"] = [*actions[:-2], actions[-1]]
    assert isinstance(account.store, DeltaStore)
    found["writers"] = [
        json.loads(line)["commitInfo"]["engineInfo"].split("/")[0]
        for version in range(5)
        for line in (
            account.store.folder.files.read(f"{place}/t/_delta_log/{version:020d}.json") or ""
        ).split("\n")
        if line.startswith('{"commitInfo"')
    ]
    account.drop("whole")
    found["contents"] = rows(account, "t")
    account.clone("t", "copy")
    found["of the clone"] = rows(account, "copy")
    account.drop("t")
    found["dropped"] = sorted(Account.open(place, spark, WallClock()).store.definitions())
    found["no table comes back"] = refused(lambda: account.undrop("x"))
    account.undrop("t")
    found["back"] = rows(account, "t")
    found["renamed"] = refused(lambda: account.rename("r", "q"))
    account.drop("t")
    account.create_dynamic_table("t", "SELECT k FROM r")
    found["made anew"] = rows(account, "t")
    file = f"{place}/file"
    created = [create_once(spark, place, file, text) for text in ("first", "second")]
    found["second writer"] = [*created, account.store.folder.files.read(file)]
    other = "s3a://unconditional/account"
    found["without conditions"] = refused(lambda: Account.open(other, spark, WallClock()))
    return found


def writes(account: Account, name: str, numbers: Iterator[int]) -> Iterator[int]:
    """Inserts rows one by one and refreshes after each, again where the other process was faster."""
    for number in numbers:
        account.execute(f"INSERT INTO r VALUES ('{name}', {number})")
        yield number
        while True:
            try:
                account.refresh("t")
            except DynamicTablesError:
                continue
            break


def judged(account: Account) -> dict[str, Any]:
    """What is there at the end."""
    account.refresh("t")
    stored = rows(account, "r")
    assert isinstance(account.store, DeltaStore)
    files, folder = account.store.folder.files, f"{account.store.folder.path}/_operations"
    numbers = sorted(int(name[:20]) for name in files.files(folder) if name.endswith(".json"))
    return {
        "contents": rows(account, "t"),
        "of the query": sorted([p, sum(q == p for q, _ in stored)] for p in {p for p, _ in stored}),
        "rows": {name: [n for p, n in stored if p == name] for name in ("first", "second")},
        "gaps": sorted(set(range(len(numbers))) - set(numbers)),
    }


def main(part: str, place: str) -> None:
    """Plays a part."""
    spark = open_session(settings=Settings.TUNED, s3=True)
    warnings.simplefilter("ignore")
    if part == "life":
        say(json.dumps(life(spark, place)))
        return
    if part == "first":
        account = Account.open(place, spark, WallClock())
        account.create_base_table("r", {"p": "STRING", "n": "INT"})
        account.create_dynamic_table("t", "SELECT p, COUNT(*) AS n FROM r GROUP BY p")
        say("made")
        for number in writes(account, part, count()):
            say(number)
    sys.stdin.readline()
    account = Account.open(place, spark, WallClock())
    for _ in writes(account, part, iter(range(2))):
        pass
    say("done")
    sys.stdin.readline()
    say(json.dumps(judged(account)))


if __name__ == "__main__":
    main(*sys.argv[1:])
