"""What worker processes find in their environment."""

from __future__ import annotations

import os

from campaign.lanes.spec import LaneSpec
from campaign.lanes.workers import ALLOCATOR, SERVER_ENVIRONMENT, Worker, pool_for


def environment(_worker: Worker) -> dict[str, str]:
    return dict(os.environ)


def test_workers_keep_freed_memory_and_the_parent_keeps_its_environment() -> None:
    before = dict(os.environ)
    with pool_for(LaneSpec(tier="rules"), 1) as pool:
        of_worker = pool.submit(environment).result()
    assert of_worker[ALLOCATOR] == os.environ.get(ALLOCATOR, SERVER_ENVIRONMENT[ALLOCATOR])
    assert of_worker["PYTHONSAFEPATH"] == "1"
    assert dict(os.environ) == before
