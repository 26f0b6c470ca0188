"""Histories in Parquet that a Spark cluster reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dvs_model.formats.reader import Item


def on_cluster(files: Sequence[Path], master: str) -> Iterator[tuple[str, Item]]:
    """Yields the histories of Parquet, read by a Spark cluster. Raises CampaignError: it cannot be."""
    # Imported here, because they load pyspark.
    from campaign.histories.on_cluster import LOST, on_cluster
    from campaign.runs.cluster import Cluster
    from dynamic_tables.session import Settings

    cluster = Cluster.join(master, Settings.SIZED, LOST)
    for path in files:
        yield str(path), on_cluster(path, cluster)
