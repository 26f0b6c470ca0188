"""The HTML page of an audit: one file, no requests, no scripts."""

from __future__ import annotations

from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined


def audit_page(audit: Mapping[str, object]) -> str:
    """Returns the page of an audit, given as `dvs audit --json` prints it. Every text is escaped."""
    environment = Environment(
        loader=PackageLoader("reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("audit.html.j2").render(audit=audit)
