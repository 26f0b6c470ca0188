"""What readers of two dynamic tables see: read skew with each weaker setting, never with the strongest."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.verify import coherence
from campaign.verify.coherence import Setting, recorded, search, skewed
from campaign.verify.protocol_world import one_by_one
from dvs_model.notation import parse
from dynamic_tables.operations.runner import Runner
from tests.depth import examples

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("setting", [s for s in Setting if s is not Setting.REPEATABLE_READ])
def test_weaker_settings_show_read_skew(setting: Setting) -> None:
    found = search(setting, range(examples(12)))
    assert found.skewed >= 3
    assert skewed(parse(found.shortest))


def test_repeatable_read_never_does() -> None:
    found = search(Setting.REPEATABLE_READ, range(examples(30)))
    assert (found.skewed, found.shortest) == (0, "")


def test_the_readers_of_the_strongest_setting_read() -> None:
    texts = [recorded(Setting.REPEATABLE_READ, seed) for seed in range(10)]
    assert sum(text.count(") r") for text in texts) > 10
    assert all("w" in text and "d" in text for text in texts)


def test_a_group_that_is_published_one_by_one_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(**arguments: object) -> Runner:
        return Runner(**arguments, publish=one_by_one)  # type: ignore[arg-type]

    monkeypatch.setattr(coherence, "Runner", faulty)
    assert search(Setting.REPEATABLE_READ, range(30)).skewed > 0


def test_the_command_prints_what_was_found() -> None:
    result = CliRunner().invoke(main, ["verify", "groups", "--runs", "6", "--json"])
    assert result.exit_code == 0
    found = {each["setting"]: each["skewed"] for each in json.loads(result.output)}
    assert found["repeatable_read"] == 0
    assert min(skewed for setting, skewed in found.items() if setting != "repeatable_read") > 0
