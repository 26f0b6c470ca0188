"""What tests of other projects import: `assert_isolation(history, "PL-SI")` for histories.

`assert_delayed_view_semantics` and `AdapterConformance`, for engines, are names of `dvs`.
"""

from dvs.packages import require_packages

require_packages(["dvs_model"])

from dvs_model.judging.recorded import assert_isolation  # noqa: E402  # the check comes first

__all__ = ["assert_isolation"]
