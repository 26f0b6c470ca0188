"""The server of scenarios for another version of this program: JSON lines in, JSON lines out.

`campaign.compare.other_version` of the other version starts it. Its first line names the version of scenarios
that it reads, and the folder of its source. Each line of its input is a scenario; the answer is the events of
the trace, or only the class of the error that ended the run: the text may hold values.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from campaign.compare.configuration import configuration, runs_of
from campaign.errors import CampaignError
from dynamic_tables.errors import DynamicTablesError
from engines.errors import EngineError
from workload.codec import encode, scenario_from_json
from workload.scenario import SCENARIO_VERSION, Scenario


def main() -> None:
    """Answers scenarios on stdin on stdout; the only command line argument is a configuration."""
    # A JVM may print on file descriptor 1, so the answers get a file descriptor of their own.
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        serve(sys.argv[1], sys.stdin, answers)


def serve(text: str, scenarios: Iterable[str], answers: IO[str]) -> None:
    """Answers every line of `scenarios`; where the engine does not start, with the reason alone.

    `text`: the configuration.
    """

    def answer(content: Mapping[str, Any]) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    try:
        run = runs_of(configuration(text).spec.build())
    except (CampaignError, EngineError, DynamicTablesError) as error:
        answer({"refused": str(error)})
        return
    answer({"scenarios": SCENARIO_VERSION, "source": str(Path(__file__).parents[2])})
    for line in scenarios:
        try:
            scenario: Scenario = scenario_from_json(json.loads(line))
            answer({"events": encode(run(scenario).events)})
        except Exception as error:  # noqa: BLE001  # any error: the next scenario may run
            answer({"broken": type(error).__name__})
