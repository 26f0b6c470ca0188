"""Checks that Python imports this distribution's packages, and not folders of the user's project.

The distribution installs packages with everyday names, such as `reports`. A folder or file of that name that
comes earlier on Python's import path hides the package. Imports would then fail without a useful message.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path

PACKAGES = (
    "campaign",
    "dvs_model",
    "dynamic_tables",
    "engines",
    "generators",
    "given",
    "oracle",
    "reference",
    "reports",
    "servers",
    "shrink",
    "workload",
)
"""The packages that this distribution's own code imports."""

HOME = Path(__file__).resolve().parent.parent
"""The folder that holds `dvs` and therefore the other packages too, installed or in a checkout."""


def ensure_packages(packages: Iterable[str] = PACKAGES) -> None:
    """Raises ImportError, in one line with the remedy, unless every package is the one beside `dvs`.

    `packages`: the names that are about to be imported. To judge histories, `dvs_model` alone is.
    """
    places = {name: place_of(name) for name in packages}
    if missing := [name for name, place in places.items() if place is None]:
        raise ImportError(
            f"dvs-harness is incomplete: {HOME} has no {' and no '.join(missing)}. Install dvs-harness again."
        )
    hiding = [str(place) for place in places.values() if place is not None and place.parent != HOME]
    if not hiding:
        return
    verb, thing = ("hides the package", "it") if len(hiding) == 1 else ("hide the packages", "them")
    without = "`pytest --import-mode=importlib`" if "pytest" in sys.modules else "`python -P`"
    raise ImportError(
        f"{' and '.join(hiding)} {verb} of the same name of dvs-harness. Rename {thing}, or keep the folder "
        f"around {thing} off Python's import path: run {without}, start in another folder, or take it out of "
        "PYTHONPATH."
    )


def place_of(package: str) -> Path | None:
    """Returns the folder or file that Python imports a package from; None where there is none."""
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:
        # A module that another program made by hand and put into `sys.modules` has no spec.
        return Path(getattr(sys.modules[package], "__file__", None) or package).absolute()
    if spec is None:
        return None
    if spec.origin is None:
        # A folder without __init__.py. It hides only an editable install, whose finder comes last.
        return Path(next(iter(spec.submodule_search_locations or [package]))).resolve()
    origin = Path(spec.origin).resolve()
    return origin.parent if origin.name == "__init__.py" else origin
