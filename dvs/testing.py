"""What tests import: `assert_isolation` for histories, `assert_dbt_models` for dbt projects.

`assert_delayed_view_semantics` and `AdapterConformance`, for engines, are names of `dvs`.
"""

from typing import TYPE_CHECKING, Any

from dvs.packages import ensure_packages

ensure_packages(["dvs_model"])

from dvs_model.judging.recorded import assert_isolation  # noqa: E402  # the check comes first

if TYPE_CHECKING:
    from campaign.dbt.assertion import assert_dbt_models

__all__ = ["assert_dbt_models", "assert_isolation"]


def __getattr__(name: str) -> Any:
    """Returns `assert_dbt_models`, and imports it only now: tests of histories need `dvs_model` alone."""
    if name != "assert_dbt_models":
        raise AttributeError(f"module 'dvs.testing' has no attribute {name!r}")
    ensure_packages(["campaign"])
    from campaign.dbt.assertion import assert_dbt_models

    return assert_dbt_models
