"""A profile of dbt that cannot be used is refused in one line, without its password, before dbt is loaded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from campaign.dbt.driver import Driver, Refused

SHOP = Path(__file__).resolve().parents[3] / "examples" / "dbt_shop"


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("dbt_project.yml", "profile: dbt_shop", "profile: other", "has no profile 'other'"),
        ("profiles.yml", "dbt_shop.duckdb", "\"{{ env_var('NO_SUCH') }}\"", "environment variable NO_SUCH"),
        (
            "profiles.yml",
            "type: duckdb, path: dbt_shop.duckdb",
            "type: snowflake, password: geheim",
            "the target dev is of the type snowflake, which needs a server or a network",
        ),
        ("profiles.yml", "target: dev", "target: prod", "has no output 'prod'; name one by --target: dev"),
        ("profiles.yml", "{", "[", "profiles.yml cannot be read: "),
    ],
)
def test_a_profile_is_refused_in_one_line(tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    project, work = tmp_path / "shop", tmp_path / "work"
    shutil.copytree(SHOP, project)
    text = (project / file).read_text()
    assert old in text
    (project / file).write_text(text.replace(old, new))
    with pytest.raises(Refused) as refused:
        Driver(str, print).write_profile({}, project, work)
    assert said in str(refused.value)
    assert "geheim" not in str(refused.value)
    assert "\n" not in str(refused.value)
