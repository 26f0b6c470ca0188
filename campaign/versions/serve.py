"""The process that runs scenarios for another version of this program: JSON lines in, JSON lines out.

The first line out says which scenarios it reads, and where its source is. Each line in is a scenario's
text; the answer is the events of its trace, or the class of the error that broke the run: its words may
hold values.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from campaign.configuration import configuration, runs_of
from campaign.errors import CampaignError
from dynamic_tables.errors import DynamicTablesError
from workload.codec import encode, scenario_from_json
from workload.scenario import SCENARIO_VERSION, Scenario


def main() -> None:
    """Serves stdin to stdout; the only argument is a configuration."""
    # Java prints on file descriptor 1 as it likes: the answers get one of their own.
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        serve(sys.argv[1], sys.stdin, answers)


def serve(text: str, scenarios: Iterable[str], answers: IO[str]) -> None:
    """Answers every line until there is none; one that does not start says so, and that is all."""

    def answer(content: Mapping[str, Any]) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    try:
        run = runs_of(configuration(text).spec.build())
    except (CampaignError, DynamicTablesError) as error:
        answer({"refused": str(error)})
        return
    answer({"scenarios": SCENARIO_VERSION, "source": str(Path(__file__).parents[2])})
    for line in scenarios:
        try:
            scenario: Scenario = scenario_from_json(json.loads(line))
            answer({"events": encode(run(scenario).events)})
        except Exception as error:  # noqa: BLE001  # whatever broke the run, the next one may work
            answer({"broken": type(error).__name__})
