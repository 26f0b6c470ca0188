"""How one aggregate is maintained from hidden columns and the net change of its group.

To a count, and to a sum of integers or decimals, an INSERT adds and a DELETE subtracts, so the old rows of
the group are not read. An average is a sum divided by a count. MIN and MAX cannot be undone in this way. For
them a hidden column counts the rows that hold the extremum (the ties), and only a group that loses its last
such row is computed from its rows again.

`stored_groups` builds the plans from these parts. They see each change once, summed up in two steps: `parts`
sums by group and by value of the extrema, `totals` and `net_totals` sum the parts of one group.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from dynamic_tables.differentiate.differentiation import ACT
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, boolean, conjunction, text
from dynamic_tables.plan.functions import CASE, CAST, EXACT_AVERAGE, NARROW_AVERAGE
from dynamic_tables.plan.nodes import INSERT
from dynamic_tables.plan.types import (
    BIGINT,
    DOUBLE,
    FLOATING,
    INT,
    INTEGRAL,
    MAX_PRECISION,
    Columns,
    Kind,
    Type,
)

STATE = "$STATE_"
OLD = "$OLD_"
NET = "$NET_"
TIES = "_ties"
"""How the name of a hidden column ends whose value may be NULL for "not known" (`Accumulator.ties`)."""

ROWS = f"{STATE}rows"
"""The hidden column with the number of rows in a group."""

ZERO = Lit(0, BIGINT)

WIDE = Type(Kind.DECIMAL, 20, 0)
"""The type in which integers are added. The inserted and the deleted values alone may sum to more than a
BIGINT (19 digits), although the sum that the query shows fits; a BIGINT would overflow on the way."""

EXACTLY_AVERAGED = 12
"""Digits from which Spark averages a DECIMAL exactly; one of fewer it averages as a DOUBLE."""

WIDEST = 18
"""Most digits of a decimal whose sum is maintained. Each of the two steps of summation adds ten digits to the
type, as Spark's SUM does, and 18 + 20 is Spark's greatest precision, 38."""


@dataclass(frozen=True)
class Accumulator:
    """An aggregate that can be maintained.

    `number`: its position among the aggregates of the query. It is a part of the names of its hidden columns:
    `SUM(x)` as aggregate 1 has the columns `$STATE_1_count` and `$STATE_1_sum`. `name`: its output column.
    """

    number: int
    name: str
    agg: Agg

    @property
    def is_extremum(self) -> bool:
        """Whether the aggregate is MIN or MAX."""
        return self.agg.name in ("MIN", "MAX")

    @property
    def branch(self) -> Branch | None:
        """The branch that campaigns count for this aggregate.

        None for COUNT(*): its value is `ROWS`, which every maintained group has anyway.
        """
        if self.is_extremum:
            return Branch.KEPT_EXTREME
        match self.agg.name:
            case "SUM":
                return Branch.KEPT_DECIMAL if self.agg.type.kind is Kind.DECIMAL else Branch.KEPT_SUM
            case "AVG":
                return Branch.KEPT_AVERAGE
            case _:
                return Branch.KEPT_COUNT if self.has_count else None

    @property
    def has_count(self) -> bool:
        """Whether a hidden column counts the values that are not NULL."""
        return self.agg.arg is not None and not self.is_extremum

    @property
    def count(self) -> Col:
        """The hidden column with the number of values that are not NULL."""
        return Col(f"{STATE}{self.number}_count", BIGINT)

    @property
    def has_sum(self) -> bool:
        """Whether a hidden column has the sum of the values: for SUM and AVG."""
        return self.agg.name in ("SUM", "AVG")

    @property
    def result(self) -> Col:
        """The hidden column with the sum, or with the least or greatest value."""
        # An average of integers is the quotient of two whole numbers; a sum of BIGINTs may be no BIGINT.
        type_ = self._added_type if self.agg.name == "AVG" else self.agg.type
        return Col(f"{STATE}{self.number}_{self.agg.name.lower()}", type_)

    @property
    def _added_type(self) -> Type:
        """The type of the sum of which an average is a part."""
        assert self.agg.arg is not None
        if self.agg.arg.type.kind is Kind.DECIMAL:
            return wider(self.agg.arg.type)
        return wider(WIDE) if self._averages_bigints else BIGINT

    @property
    def _averages_bigints(self) -> bool:
        return self.agg.name == "AVG" and self.agg.arg is not None and self.agg.arg.type == BIGINT

    @property
    def ties(self) -> Col:
        """The hidden column with the number of rows that have the extremum; NULL where it is not known.

        It is NULL after the first contents, and after a better value has replaced the extremum: to count the
        rows of every group would double the cost of the first contents. It is known once a refresh has
        computed the group from its rows.
        """
        return Col(f"{STATE}{self.number}{TIES}", BIGINT)

    @property
    def state(self) -> tuple[Col, ...]:
        """The hidden columns."""
        if self.is_extremum:
            return (self.result, self.ties)
        counted = (self.count,) if self.has_count else ()
        return (*counted, self.result) if self.has_sum else counted

    def of_whole(self) -> tuple[tuple[str, Agg], ...]:
        """Returns the aggregates that give the hidden columns, except `ties`, from all rows of a group."""
        added = self.agg.arg
        if added is not None and self._averages_bigints:
            added = Fn(CAST, (added,), WIDE)
        total = Agg("SUM" if self.has_sum else self.agg.name, added, False, self.result.type)
        known = {self.count: Agg("COUNT", self.agg.arg, False, BIGINT), self.result: total}
        return tuple((column.name, known[column]) for column in self.state if column in known)

    # The aggregates over the changed rows of a group, or over all its rows. The first step groups by the
    # group's key and by the values of the extrema, so that an equal value which leaves in one row and comes
    # in another one nets to 0 before MIN or MAX looks at it. The second step groups by the key alone.

    @property
    def value(self) -> Col:
        """The column with the value of an extremum's argument in a changed row."""
        assert self.agg.arg is not None
        return Col(f"$VALUE_{self.number}", self.agg.arg.type)

    def parts(self, *, changes: bool) -> tuple[tuple[str, Agg], ...]:
        """Returns the aggregates of the first step, which give the count and the sum of each part.

        `changes`: the rows are a change set, so a DELETE counts -1 and subtracts its value. An extremum needs
        none: its value is a key of this step.
        """
        arg = self.agg.arg
        if arg is None or self.is_extremum:
            return ()
        weight = WEIGHT if changes else Lit(1, BIGINT)
        counted = Fn(CASE, (boolean("is null", arg), ZERO, weight), BIGINT)
        parts = [(self._net_count.name, Agg("SUM", counted, False, BIGINT))]
        if self.has_sum:
            added = Fn(CAST, (arg,), WIDE) if arg.type.kind in INTEGRAL else arg
            signed = Fn(CASE, (IS_INSERT, added, Fn("negate", (added,), added.type)), added.type)
            parts.append(
                (self._net_sum.name, Agg("SUM", signed if changes else added, False, wider(added.type)))
            )
        return tuple(parts)

    def totals(self) -> tuple[tuple[str, Agg], ...]:
        """Returns the aggregates of the second step over all rows of a group: count and sum, or extremum."""
        if self.is_extremum:
            return ((self.result.name, Agg(self.agg.name, self.value, False, self.agg.type)),)
        return tuple(
            (name, Agg("SUM", Col(name, part.type), False, wider(part.type)))
            for name, part in self.parts(changes=True)
        )

    def net_totals(self) -> tuple[tuple[str, Agg], ...]:
        """Returns the aggregates of the second step over changes, joined with the stored row of the group.

        For an extremum they are `$GAINED_n`, the best value that came, and `$NET_n_ties`, by how many rows
        the number of rows with the stored extremum changed.
        """
        if not self.is_extremum:
            return self.totals()
        type_ = self.agg.type
        # Only a value with a positive net is in the group at t1 for sure; the others came and went.
        gained = Fn(CASE, (boolean(">", NET_ROWS, ZERO), self.value, Lit(None, type_)), type_)
        is_best = boolean("is true", boolean("=", self.value, old_of(self.result)))
        net_of_best = Fn(CASE, (is_best, NET_ROWS, ZERO), BIGINT)
        return (
            (self._gained.name, Agg(self.agg.name, gained, False, type_)),
            (self._net_ties.name, Agg("SUM", net_of_best, False, BIGINT)),
        )

    def counted_ties(self) -> tuple[tuple[str, Agg], ...]:
        """Returns the aggregate that counts the rows with the extremum.

        Its input are the parts of a group, each joined with the totals of the group.
        """
        if not self.is_extremum:
            return ()
        is_best = boolean("is true", boolean("=", self.value, self.result))
        return ((self.ties.name, Agg("SUM", Fn(CASE, (is_best, NET_ROWS, ZERO), BIGINT), False, BIGINT)),)

    @property
    def _net_count(self) -> Col:
        return Col(f"{NET}{self.number}_count", BIGINT)

    @property
    def _net_sum(self) -> Col:
        return Col(f"{NET}{self.number}_sum", self._sum_type)

    @property
    def _sum_type(self) -> Type:
        """The type in which the net of a sum is added to the hidden column.

        The hidden column of integers is a BIGINT, but the net of one refresh may need more digits.
        """
        return wider(WIDE) if self.result.type == BIGINT else self.result.type

    @property
    def _gained(self) -> Col:
        return Col(f"$GAINED_{self.number}", self.agg.type)

    @property
    def _net_ties(self) -> Col:
        return Col(f"{NET}{self.number}_ties", BIGINT)

    # The new values of a group, from its old state and the net changes.

    def new_state(self) -> tuple[tuple[str, Expr], ...]:
        """Returns the new values of the hidden columns.

        Those of an extremum are of no use where `must_compute` holds.
        """
        items: list[tuple[str, Expr]] = []
        if self.has_count:
            items.append((self.count.name, self._new_count()))
        if self.has_sum:
            items.append((self.result.name, self._new_sum()))
        if self.is_extremum:
            items.append((self.result.name, self._new_best()))
            items.append((self.ties.name, self._new_ties()))
        return tuple(items)

    def state_of_whole(self) -> tuple[tuple[str, Expr], ...]:
        """Returns the hidden columns from `totals` and `counted_ties` of all rows of a group."""
        if self.is_extremum:
            return ((self.result.name, self.result), (self.ties.name, self.ties))
        items: list[tuple[str, Expr]] = (
            [(self.count.name, or_zero(self._net_count))] if self.has_count else []
        )
        if self.has_sum:
            items.append((self.result.name, narrowed(self._net_sum, self.result.type)))
        return tuple(items)

    def new_value(self) -> Expr:
        """Returns the new value of the aggregate itself, over the columns of `new_state` and `ROWS`."""
        if self.agg.name == "COUNT":
            return Col(ROWS, BIGINT) if self.agg.arg is None else self.count
        if self.agg.name == "AVG" and self.agg.type.kind is Kind.DECIMAL:
            none = boolean("is null", self.result)
            return Fn(CASE, (none, Lit(None, self.agg.type), self._decimal_average()), self.agg.type)
        if self.agg.name == "AVG":
            sum_ = Fn(CAST, (self.result,), DOUBLE) if self._averages_bigints else self.result
            quotient = Fn("/", (sum_, self.count), DOUBLE)
            none = boolean("is null", self.result)
            return Fn(CASE, (none, Lit(None, DOUBLE), quotient), DOUBLE)
        return self.result

    def _decimal_average(self) -> Expr:
        assert self.agg.arg is not None
        of, type_ = self.agg.arg.type, self.agg.type
        form = EXACT_AVERAGE if of.precision >= EXACTLY_AVERAGED else NARROW_AVERAGE
        power = Lit(Decimal(10**of.scale), Type(Kind.DECIMAL, of.scale + 1, 0))
        as_double = Lit(float(10**of.scale), DOUBLE)
        return Fn(form, (self.result, power, self.count, Lit(type_.scale, INT), as_double), type_)

    def must_compute(self) -> Expr:
        """Returns the condition under which a group must be computed from its rows again.

        All three must hold: more rows with the extremum left than came, no such row surely stays, and no
        value as good as it came. Example: MAX is 9 with 2 ties; one DELETE of a 9 leaves 1 tie, so nothing
        is computed; a DELETE of both and an INSERT of 10 neither.
        """
        left = boolean("<", self._net_ties, ZERO)
        # With an unknown number of ties the comparison is NULL, and the last one may have left.
        some_stay = boolean("is true", boolean(">", self._remaining(), ZERO))
        as_good = "<=" if self.agg.name == "MIN" else ">="
        replaced = boolean("is true", boolean(as_good, self._gained, old_of(self.result)))
        return conjunction((left, boolean("not", some_stay), boolean("not", replaced)))

    def _remaining(self) -> Expr:
        return Fn("+", (old_of(self.ties), self._net_ties), BIGINT)

    def _new_count(self) -> Expr:
        return plus(old_of(self.count), self._net_count)

    def _new_sum(self) -> Expr:
        type_ = self._sum_type
        old, net = Fn(CAST, (old_of(self.result),), type_), Fn(CAST, (self._net_sum,), type_)
        total = plus(old, net)
        # A sum of no value is NULL, not 0.
        none, type_ = boolean("=", self._new_count(), ZERO), self.result.type
        return Fn(CASE, (none, Lit(None, type_), narrowed(total, type_)), type_)

    def _is_better(self) -> Expr:
        # Strictly better: with an equal value the stored ties go on to count, see `_new_ties`.
        old, sign = old_of(self.result), "<" if self.agg.name == "MIN" else ">"
        better = boolean("or", boolean("is null", old), boolean("is true", boolean(sign, self._gained, old)))
        return conjunction((boolean("not", boolean("is null", self._gained)), better))

    def _new_best(self) -> Expr:
        return Fn(CASE, (self._is_better(), self._gained, old_of(self.result)), self.agg.type)

    def _new_ties(self) -> Expr:
        # How many rows have a new extremum is not counted here: that would need one more pass.
        return Fn(CASE, (self._is_better(), Lit(None, BIGINT), self._remaining()), BIGINT)


IS_INSERT = boolean("=", ACT, text(INSERT))
WEIGHT: Expr = Fn(CASE, (IS_INSERT, Lit(1, BIGINT), Lit(-1, BIGINT)), BIGINT)
NET_ROWS = Col(f"{NET}rows", BIGINT)


def accumulator(number: int, name: str, agg: Agg) -> Accumulator | None:
    """Returns how an aggregate is maintained; None where that would not be exact, or is not known.

    None makes the whole query use the rule of affected groups (`grouping`), which is exact for all.
    """
    # DISTINCT would need the number of rows of each value, which no hidden column has.
    if agg.distinct or agg.extra:
        return None
    match agg.name:
        case "COUNT":
            maintained = True
        case "SUM":
            assert agg.arg is not None
            maintained = agg.arg.type.kind in INTEGRAL or _is_added(agg.arg.type)
        case "AVG":
            # By the exact sum, as `dialects.spark` computes it: Spark adds doubles, which lose digits beyond
            # 2**53, in another way for each order of the rows.
            assert agg.arg is not None
            maintained = agg.arg.type.kind in INTEGRAL or _is_added(agg.arg.type)
        case "MIN" | "MAX":
            # Of -0.0 and 0.0 each engine shows the one that it met first, and a refresh meets other rows
            # first than a full computation.
            maintained = agg.type.kind not in FLOATING and agg.type.identifies
        case _:
            maintained = False
    return Accumulator(number, name, agg) if maintained else None


def _is_added(type_: Type) -> bool:
    """Tells whether the sum of a DECIMAL has room for the digits that the steps of a refresh add."""
    return type_.kind is Kind.DECIMAL and type_.precision <= WIDEST


def old_of(column: Col) -> Col:
    """Returns the column of the stored row; it is NULL for a group that is new."""
    return Col(OLD + column.name, column.type)


def plus(old: Expr, net: Expr) -> Expr:
    """Returns what was stored, or 0, plus the net of what changed, or 0."""
    terms = [or_zero(term) for term in (old, net)]
    sum_ = (
        BIGINT
        if old.type == BIGINT
        else Type(Kind.DECIMAL, min(old.type.precision + 1, MAX_PRECISION), old.type.scale)
    )
    return Fn("+", tuple(terms), sum_)


def or_zero(number: Expr) -> Expr:
    """Returns a number, or 0 where it is NULL."""
    zero = ZERO if number.type == BIGINT else Fn(CAST, (ZERO,), number.type)
    return Fn("coalesce", (number, zero), number.type)


def wider(type_: Type) -> Type:
    """Returns the type of a SUM over a type; Spark adds ten digits to a decimal."""
    if type_.kind is not Kind.DECIMAL:
        return type_
    return Type(Kind.DECIMAL, min(type_.precision + 10, MAX_PRECISION), type_.scale)


def narrowed(expr: Expr, type_: Type) -> Expr:
    """Returns a sum in the type that the query gives it; a value that does not fit fails, as in the query."""
    return Fn(CAST, (expr,), type_)


def state_columns(accumulators: tuple[Accumulator, ...]) -> Columns:
    """Returns names and types of the hidden columns of a table."""
    hidden = (column for known in accumulators for column in known.state)
    return ((ROWS, BIGINT), *((column.name, column.type) for column in hidden))
