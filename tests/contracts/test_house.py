"""The house does not get worse unnoticed: each number is at most the one that `house.toml` holds."""

from __future__ import annotations

from tests.contracts.house import limits, measured


def test_no_number_is_above_its_limit() -> None:
    found, most = measured(), limits()
    assert found.keys() == most.keys()
    above = {name: (value, most[name]) for name, value in found.items() if value > most[name]}
    assert above == {}, f"lower these, or lift the limit in house.toml and say why in the commit: {above}"


def test_a_limit_follows_what_has_fallen() -> None:
    """A number that fell by a twentieth is the new limit, so that it does not rise again."""
    loose = {
        name: (value, limits()[name]) for name, value in measured().items() if value < 0.95 * limits()[name]
    }
    assert loose == {}, f"lower these limits in house.toml: {loose}"
