"""The page that draws the graph of an account, with the lag, the action and the state of each table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import jinja2

from dynamic_tables.command.text import seconds, share
from dynamic_tables.schedule.graph import ordered

Row = Mapping[str, object]

BOX, GAP, HEIGHT, ROOM = 190, 70, 62, 22
"""Width of a box, room between columns, height of a box, room between rows; in pixels."""


@dataclass(frozen=True, slots=True)
class Box:
    """A table in the picture. `kind`: its class of colour. `lines`: what stands in it."""

    name: str
    kind: str
    lines: tuple[str, ...]
    x: int
    y: int

    @property
    def middle(self) -> int:
        """The height at which lines meet the box."""
        return self.y + HEIGHT // 2


def page(folder: str, rows: Sequence[Row], inputs: Sequence[Row], now: datetime) -> str:
    """Returns an HTML page without scripts: the graph as a picture, then the state of each table.

    `rows` and `inputs`: the rows of `Account.dynamic_tables` and `Account.dependencies`.
    """
    boxes = _boxes(rows, inputs)
    edges = [
        (boxes[str(each["input"])], boxes[str(each["name"])], bool(each["diamond"]))
        for each in inputs
        if str(each["input"]) in boxes and str(each["name"]) in boxes
    ]
    template = Path(__file__).with_name("status.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(
        folder=folder,
        rows=rows,
        boxes=list(boxes.values()),
        edges=edges,
        width=max((box.x for box in boxes.values()), default=0) + BOX + 20,
        height=max((box.y for box in boxes.values()), default=0) + HEIGHT + 20,
        box_width=BOX,
        box_height=HEIGHT,
        now=now.strftime("%Y-%m-%d %H:%M:%S UTC"),
        seconds=seconds,
        share=share,
        late=sum(_kind(row) == "late" for row in rows),
        stopped=sum(_kind(row) == "suspended" for row in rows),
    )


def _boxes(rows: Sequence[Row], inputs: Sequence[Row]) -> Mapping[str, Box]:
    """Returns a box for each table. A source stands in a column left of the tables that read it."""
    above: dict[str, list[str]] = {str(row["name"]): [] for row in rows}
    for each in inputs:
        above.setdefault(str(each["input"]), [])
        above.setdefault(str(each["name"]), []).append(str(each["input"]))
    by_name = {str(row["name"]): row for row in rows}
    kinds = {str(each["input"]): str(each["input_kind"]) for each in inputs}
    depth: dict[str, int] = {}
    count_at: dict[int, int] = {}
    boxes: dict[str, Box] = {}
    for name in ordered(above):
        depth[name] = max((depth[up] + 1 for up in above[name]), default=0)
        place = count_at.get(depth[name], 0)
        count_at[depth[name]] = place + 1
        x, y = 10 + depth[name] * (BOX + GAP), 10 + place * (HEIGHT + ROOM)
        row = by_name.get(name)
        if row is None:
            boxes[name] = Box(name, "base", (kinds.get(name, "").lower(),), x, y)
        else:
            boxes[name] = Box(name, _kind(row), _lines(row), x, y)
    return boxes


def _kind(row: Row) -> str:
    """Returns the class of colour of a dynamic table: suspended, running, empty, late or fresh."""
    lag, target = row["lag_sec"], row["target_lag_sec"]
    if row["scheduling_state"] != "RUNNING":
        return "suspended"
    if row["executing_process"]:
        return "running"
    if lag is None:
        return "empty"
    late = isinstance(lag, float) and isinstance(target, float) and lag > target
    return "late" if late else "fresh"


def _lines(row: Row) -> tuple[str, ...]:
    """Returns the lines in the box of a dynamic table: its lag, then its mode and the last refresh."""
    target = "DOWNSTREAM" if row["target_lag_sec"] is None else seconds(row["target_lag_sec"])
    lag = "no contents yet" if row["lag_sec"] is None else f"lag {seconds(row['lag_sec'])} of {target}"
    return (
        lag,
        f"{row['refresh_mode']}, {str(row['last_completed_refresh_state'] or 'not refreshed').lower()}",
    )
