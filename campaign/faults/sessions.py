"""Faults in what the engine takes over from the session that it is given; they show on Delta alone."""

from __future__ import annotations

from functools import partial
from typing import Any

from campaign.faults.fault import in_store, part_fault
from dynamic_tables.store.spark.own_session import FIXED, copy_of, own_session
from workload.outcomes.results import Check


def every_setting(spark: Any) -> Any:
    """The engine works in a copy of the caller's session, and fixes ten settings of SQL's meaning alone."""
    session = copy_of(spark)
    for name, value in FIXED.items():
        session.conf.set(name, value)
    return session


def settings_of_delta(spark: Any) -> Any:
    """The engine's session has the settings of Delta that its caller has, such as what a commit says."""
    session, copied = own_session(spark), every_setting(spark)
    for name in DELTA_SETTINGS:
        value = copied.conf.get(name, None)
        if value is not None:
            session.conf.set(name, value)
    return session


DELTA_SETTINGS = (
    "spark.databricks.delta.commitInfo.enabled",
    "spark.databricks.delta.commitInfo.userMetadata",
    "spark.databricks.delta.write.txnAppId",
    "spark.databricks.delta.write.txnVersion",
    "spark.databricks.delta.properties.defaults.columnMapping.mode",
)

_fault = partial(part_fault, area="sessions", replacing=in_store, core=False, only_on="delta")

FAULTS = (
    _fault("every-setting-taken-over", "session_of", every_setting, Check.REFRESH_ERROR, Check.EQUALITY),
    _fault("delta-settings-taken-over", "session_of", settings_of_delta, Check.REFRESH_ERROR, Check.SOURCES),
)
