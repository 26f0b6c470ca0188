"""The branches that a query can take through the rules: what a coverage of operators cannot tell apart.

One operator has several ways to its changes: a window function is computed over whole partitions or over
their tails, a grouping from all rows of a group or from the table's own contents. A rule or a step of binding
that has such a choice names the branch that it takes, to a recorder that it gets as an argument. Campaigns
count these names, and have a floor for each.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Branch(StrEnum):
    """The branches, by the names that reports and floors use."""

    # Queries inside expressions, as they are bound.
    NOT_IN_ONE = "NOT IN of one column"
    NOT_IN_SEVERAL = "NOT IN of several columns"
    NOT_IN_TIED = "NOT IN tied to the row outside"
    IN_SEVERAL = "IN of several columns"
    MARK = "mark that is never NULL"
    MARK_PERHAPS = "mark that may be NULL"
    TIED_BY_KEYS = "query tied by equalities"
    TIED_BY_VALUES = "query tied by other conditions"
    MEMBER_OF_GROUPS = "membership in groups tied to the row"
    LATERAL_OF_EACH = "LATERAL with groups or first rows"
    LATERAL_ROWS = "LATERAL with rows"
    LATERAL_VALUES = "LATERAL with aggregates"
    FIRST_OF_EACH = "first rows of each row outside"
    OFFSET_OF_EACH = "first rows of each row outside, after an OFFSET"
    VALUE_OF_ALL = "aggregate of all rows as a value"
    VALUE_OF_GROUP = "aggregate of a group as a value"
    VALUE_WITH_HAVING = "aggregate with HAVING as a value"
    VALUE_OF_ONE_ROW = "value of one row per key"
    VALUE_CHECKED = "value of a row that must be the only one"
    VALUE_BESIDE_GROUPS = "value joined with the groups of a block"
    MARK_BESIDE_GROUPS = "mark added to the groups of a block"

    # Conditions that were moved before differentiation.
    PUSHED_BELOW_JOIN = "condition moved below a join"
    PUSHED_BELOW_GROUPING = "condition moved below a grouping"
    PUSHED_BELOW_WINDOW = "condition moved below a window"
    PUSHED_BELOW_UNION = "condition moved below a union"
    PUSHED_BELOW_DISTINCT = "condition moved below a DISTINCT"
    PUSHED_BELOW_EXPLODE = "condition moved below an explode"

    # Rules of operators.
    WINDOW_WHOLE = "window over whole partitions"
    WINDOW_STORED = "window beside the stored rows"
    WINDOW_FIRST = "first rows of partitions from the stored ones"
    WINDOW_ALL_ROWS = "window over all rows as one partition"
    WINDOW_TAIL = "window over tails"
    WINDOW_TAIL_OF_ALL = "window over the tail of all rows"
    WINDOW_TAIL_DESCENDING = "window over descending tails"
    TAIL_STORED = "window tails beside the stored rows"
    RUNNING_COUNT = "running COUNT continued"
    RUNNING_SUM = "running SUM continued"
    RUNNING_DECIMAL = "running SUM of DECIMAL continued"
    RUNNING_EXTREME = "running MIN or MAX continued"
    RUNNING_PLACE = "ROW_NUMBER or RANK continued"
    LIMIT_ON_TOP = "LIMIT from the stored rows"
    LIMIT_ON_TOP_OFFSET = "LIMIT with OFFSET from the stored rows"
    LIMIT_BELOW = "LIMIT below the top"
    LIMIT_BELOW_OFFSET = "LIMIT with OFFSET below the top"
    LIMIT_OF_TIES = "LIMIT with an order that may leave rows equal"
    DISTINCT_BELOW = "DISTINCT computed from affected values"
    GROUPING_BELOW = "groups computed from affected groups"
    GROUPING_OF_ALL = "group of all rows computed anew"
    GROUPS_STORED = "groups beside the stored rows"

    # Groupings that are kept from the table's own contents.
    CONTENTS_GROUPED = "groups kept from contents"
    CONTENTS_OF_ALL = "group of all rows kept from contents"
    CONTENTS_DISTINCT = "DISTINCT kept from contents"
    CONTENTS_COMPUTED = "groups kept from contents below computed outputs"
    KEPT_COUNT = "COUNT of a column kept"
    KEPT_SUM = "SUM of integers kept"
    KEPT_DECIMAL = "SUM of DECIMAL kept"
    KEPT_AVERAGE = "AVG kept"
    KEPT_EXTREME = "MIN or MAX kept"
    EXTREME_AGAIN = "groups that lost their extreme computed anew"
    ALL_AGAIN = "group of all rows that lost its extreme computed anew"

    # A refresh.
    SOURCE_UNCHANGED = "terms of an unchanged source left out"
    EVALUATED_ANEW = "query evaluated anew where its changes fail"


Met = Callable[[Branch], None]
"""Is told each branch that a plan or a refresh takes."""


def unrecorded(branch: Branch) -> None:
    """Does nothing: the recorder of an engine that nobody watches."""
