"""Laws of bags: they are an Abelian group, and their equality ignores the order of rows."""

from decimal import Decimal

from hypothesis import given, strategies as st

from oracle.bag import Bag
from oracle.compare import compare, difference
from workload.outcomes.results import DifferenceKind
from workload.schema import Column
from workload.types import DOUBLE, INT, STRING, Row, decimal

TYPES = (INT, DOUBLE, STRING, decimal(3, 1))
COLUMNS = tuple(Column(f"c{i}", type_) for i, type_ in enumerate(TYPES))
EMPTY = Bag({})

# Few values, so that rows often coincide.
rows = st.tuples(
    st.sampled_from([None, 0, 1]),
    st.sampled_from([None, 0.0, -0.0, 1.0, float("nan")]),
    st.sampled_from(["", "a"]),
    st.sampled_from([None, Decimal("1"), Decimal("1.0")]),
)
lists = st.lists(rows, max_size=8)
bags = st.lists(st.tuples(rows, st.integers(-3, 3)), max_size=8).map(
    lambda entries: Bag.weighted(entries, TYPES)
)


def bag(given_rows: list[Row]) -> Bag:
    return Bag.of(given_rows, TYPES)


@given(bags, bags, bags)
def test_addition_is_an_abelian_group(a: Bag, b: Bag, c: Bag) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + EMPTY == a
    assert a + -a == EMPTY
    assert a - b == a + -b


@given(bags, bags)
def test_no_bag_holds_a_zero_multiplicity(a: Bag, b: Bag) -> None:
    for result in (a, -a, a + b, a - b):
        assert 0 not in result.multiplicities.values()


@given(bags, bags)
def test_bags_are_equal_iff_their_difference_is_empty(a: Bag, b: Bag) -> None:
    assert (a == b) == (a - b == EMPTY) == (not len(a - b))


@given(lists, lists)
def test_concatenation_is_addition(a: list[Row], b: list[Row]) -> None:
    assert bag(a + b) == bag(a) + bag(b)
    assert len(bag(a + b)) == len(a) + len(b)


@given(st.data(), lists)
def test_order_does_not_matter_in_the_bag_nor_in_its_entries(data: st.DataObject, a: list[Row]) -> None:
    shuffled = data.draw(st.permutations(a))
    assert bag(a) == bag(shuffled)
    assert [n for _, n in bag(a).entries()] == [n for _, n in bag(shuffled).entries()]


@given(lists, lists)
def test_a_difference_leads_from_the_actual_rows_to_the_expected_ones(
    expected: list[Row], actual: list[Row]
) -> None:
    result = compare(COLUMNS, expected, COLUMNS, actual)
    if result is None:
        assert bag(expected) == bag(actual)
    else:
        missing, extra = Bag.weighted(result.missing, TYPES), Bag.weighted(result.extra, TYPES)
        assert bag(actual) + missing - extra == bag(expected) != bag(actual)
        assert all(count > 0 for _, count in (*result.missing, *result.extra))


@given(lists, lists)
def test_a_difference_in_the_other_direction_exchanges_missing_and_extra(
    expected: list[Row], actual: list[Row]
) -> None:
    forward = difference(COLUMNS, bag(expected), bag(actual))
    backward = difference(COLUMNS, bag(actual), bag(expected))
    opposite = {DifferenceKind.MISSING: DifferenceKind.EXTRA, DifferenceKind.EXTRA: DifferenceKind.MISSING}
    if forward is not None and backward is not None:
        assert backward.kind is opposite.get(forward.kind, forward.kind)
        assert len(forward.missing) == len(backward.extra)
    assert (forward is None) == (backward is None)
