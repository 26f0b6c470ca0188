"""The plan of a simulated account as a file, so that it can be run again."""

from __future__ import annotations

import json
from pathlib import Path

from campaign.errors import CampaignError
from campaign.soak.plan import Plan
from workload.codec import decode, encode
from workload.errors import WorkloadError

FORMAT = "dvs-account-plan"


def plan_to_json(plan: Plan) -> str:
    """Returns the JSON text of a plan."""
    return json.dumps({"format": FORMAT, "plan": encode(plan)}, indent=1) + "\n"


def read_plan(path: Path) -> Plan:
    """Returns the plan in a file. Raises CampaignError for a file that holds none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CampaignError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise CampaignError(f"{path} is no plan of an account: no valid JSON ({error})") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CampaignError(f'{path} is no plan of an account: the top object lacks "format": "{FORMAT}"')
    try:
        plan = decode(document.get("plan"), Plan, "plan")
    except (WorkloadError, RecursionError) as error:
        raise CampaignError(f"{path} is no plan of an account: {error}") from error
    assert isinstance(plan, Plan)
    return plan
