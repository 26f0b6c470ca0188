"""What `dvs dbt` found, as a page, as Markdown, as JUnit XML, and as scripts that need dbt only."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from reports import markdown
from reports.documents import DbtCellDocument, DbtDocument, DbtModelDocument, DbtReproductionDocument
from reports.figures import plural
from reports.junit import Case, CaseVerdict, Suite, junit_xml
from reports.run_page import environment

SIGNS = {"equal": "=", "differs": "differs", "not applicable": "", "undecided": "?"}
"""A verdict in a cell of the table."""


MODELS_NAMED = 4
"""At most so many models that were not judged stand in the headline by name; more would hide the rest."""


def heading(kind: str) -> str:
    """Returns a kind of change as the heading of a column."""
    return kind.replace("_", " ")


def cell_text(cell: DbtCellDocument) -> str:
    """Returns a cell in few characters: `= 40` for equal in 40 trials; a broken promise is in capitals."""
    if cell["verdict"] == "equal":
        return f"{SIGNS['equal']} {cell['trials']}"
    if cell["verdict"] != "differs":
        return SIGNS[cell["verdict"]]
    return "WRONG" if cell["broken_promise"] else SIGNS["differs"]


def headline(document: DbtDocument) -> str:
    """Returns the result in one sentence: what is wrong, else what was not judged, else what differs."""
    models = document["models"]
    shown = f"{plural(len(models), 'model')}, {plural(document['trials'], 'trial')}"
    if broken := [name for name, model in models.items() if broken_kinds(model)]:
        return f"{', '.join(broken)}: wrong although the promises were kept ({shown})"
    differing = sum(len(kinds_that(model, "differs")) for model in models.values())
    differences = f"{plural(differing, 'difference')} to know of"
    if document["decision"] == "undecided":
        unjudged = [name for name, model in models.items() if kinds_that(model, "undecided")]
        why = "not all that was asked for was judged" if document["finished"] else "not all trials have run"
        names = f": {', '.join(unjudged)}" if 0 < len(unjudged) <= MODELS_NAMED else ""
        return f"Undecided: {why}{names}{f'; {differences}' if differing else ''} ({shown})"
    if all(model["promises"] is None for model in models.values()):
        return f"Nothing was promised; {differences} ({shown})"
    return f"No difference within the promises ({shown})"


def kinds_that(model: DbtModelDocument, verdict: str) -> list[str]:
    """Returns the kinds of change under which a model has a verdict."""
    return [kind for kind, cell in model["changes"].items() if cell["verdict"] == verdict]


def broken_kinds(model: DbtModelDocument) -> list[str]:
    """Returns the kinds of change under which a model breaks what its promises allow."""
    return [kind for kind, cell in model["changes"].items() if cell["broken_promise"]]


def wrong_lines(model: DbtModelDocument) -> Iterator[tuple[str, list[str]]]:
    """Yields each kind of change under which a model breaks its promises, with the lines of its story."""
    for kind in broken_kinds(model):
        reproduction = model["changes"][kind]["reproduction"]
        yield kind, [] if reproduction is None else [*story(reproduction)]


def story(reproduction: DbtReproductionDocument) -> Iterator[str]:
    """Yields the lines of a reproduction: the changes run by run, then missing rows and rows too many."""
    for number, run in enumerate(reproduction["runs"]):
        yield from run["lines"]
        if run["beside"] is not None:
            yield f"-- dbt runs, and waits at statement {run['stop_at']} of the models"
            yield from run["beside"]
            yield "-- a second dbt runs, begin to end; the first goes on"
        elif run["stop_at"] is not None:
            yield f"-- dbt runs, is stopped at statement {run['stop_at']} of the models, and runs again"
        else:
            yield "-- dbt runs for the first time" if not number else "-- dbt runs"
    for what, rows in (("missing", reproduction["missing"]), ("too many", reproduction["extra"])):
        for row in rows:
            pairs = (f"{name} {value}" for name, value in zip(reproduction["columns"], row, strict=True))
            yield f"{what}: {', '.join(pairs)}"
    if reproduction["lost"]:
        yield f"missing columns: {', '.join(reproduction['lost'])}"
    if reproduction["added"]:
        yield f"columns too many: {', '.join(reproduction['added'])}"
    if reproduction["error"]:
        yield reproduction["error"]
    if reproduction["inherited"]:
        yield f"differs too, and is read: {', '.join(reproduction['inherited'])}"


def dbt_page(document: DbtDocument, folders: Mapping[tuple[str, str], str]) -> str:
    """Returns the HTML page: one file that loads nothing. `folders`: of reproductions, by model and kind."""
    loaded = environment()
    loaded.filters.update(heading=heading, cell=cell_text, story=lambda each: "\n".join(story(each)))
    template = loaded.get_template("dbt.html.j2")
    return template.render(found=document, headline=headline(document), folders=folders, broken=broken_kinds)


def dbt_markdown(document: DbtDocument) -> str:
    """Returns the result as Markdown: the table, what each model needs, and the broken promises in full."""
    kinds = [*document["kinds"]]
    rows = [
        [markdown.code(name), *(cell_text(model["changes"][kind]) for kind in kinds)]
        for name, model in document["models"].items()
    ]
    parts = [
        f"### dvs dbt: {markdown.plain(headline(document))}",
        markdown.table(["model", *map(heading, kinds)], rows),
        "\n".join(f"- {markdown.plain(model['needs'])}" for model in document["models"].values()),
    ]
    for name, model in document["models"].items():
        for kind, lines in wrong_lines(model):
            parts.append(f"**{markdown.plain(name)}, {heading(kind)}**")
            parts.append(markdown.fence("\n".join(lines)))
    return "\n\n".join(parts) + "\n"


def dbt_junit(document: DbtDocument) -> str:
    """Returns the JUnit XML: one suite for each model, one case for each kind of change."""
    return junit_xml(
        Suite(f"dvs dbt: {name}", tuple(_case(kind, cell) for kind, cell in model["changes"].items()))
        for name, model in document["models"].items()
    )


def _case(kind: str, cell: DbtCellDocument) -> Case:
    details = "" if cell["reproduction"] is None else "\n".join(story(cell["reproduction"]))
    shown = plural(cell["trials"], "trial")
    match cell["verdict"]:
        case "differs" if cell["broken_promise"]:
            return Case(kind, 0.0, CaseVerdict.FAILED, "differs, though the promises were kept", details)
        case "differs":
            return Case(kind, 0.0, CaseVerdict.PASSED, f"differs; nothing was promised ({shown})", details)
        case "equal":
            return Case(kind, 0.0, CaseVerdict.PASSED, f"equal in {shown}")
        case "not applicable":
            return Case(kind, 0.0, CaseVerdict.SKIPPED, cell["reason"])
        case _:
            reason = cell["reason"] or "the run ended before its trials"
            return Case(kind, 0.0, CaseVerdict.ERROR, f"not judged: {reason}")


def reproduce_sh(
    name: str, kind: str, reproduction: DbtReproductionDocument, project: str, profile: Mapping[str, object]
) -> str:
    """Returns a script that shows one difference with dbt alone, on databases in a folder of its own.

    `profile`: a profile of dbt that holds one target, without its path.
    """
    scripts = Environment(loader=PackageLoader("reports"), autoescape=False, undefined=StrictUndefined)
    scripts.filters.update(quoted=shlex.quote, sql=_sql, json=lambda each: json.dumps(each, indent=1))
    lines = ["# " + line for line in story(reproduction)]
    columns = ", ".join('"' + each.replace('"', '""') + '"' for each in reproduction["compared"]) or "*"
    template = "reproduce_spark.sh.j2" if profile["type"] == "spark" else "reproduce.sh.j2"
    return scripts.get_template(template).render(
        stops=any(run["stop_at"] is not None for run in reproduction["runs"]),
        name=name,
        kind=heading(kind),
        story=lines,
        found=reproduction,
        query=json.dumps(f"SELECT {columns} FROM {reproduction['relation']}"),
        project=project,
        profile=profile,
    )


def _sql(statements: Sequence[str]) -> str:
    return "".join(f"{statement};\n" for statement in statements)
