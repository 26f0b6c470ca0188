"""The solver: whether a formula of `terms` has a solution, by z3, and one solution of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from campaign.errors import CampaignError
from campaign.verify.unbounded.terms import Term, Truth, below, variables

EFFORT = 100_000_000
"""How many of its own operations (`rlimit`) z3 may use for a formula: some 20 s of CPU. More is no pass."""

MISSING = "z3 is not installed: pip install 'dvs-harness[proof]'"


def load() -> Any:
    """Returns the library z3. Raises CampaignError if it is not installed."""
    try:
        import z3
    except ImportError as error:
        raise CampaignError(MISSING) from error
    return z3


@dataclass(slots=True)
class Solver:
    """A solver of z3 under some laws. Every variable is a whole number of at least 0.

    `effort`: as `EFFORT`. No clock decides, so that a busy machine gives the same answers as an idle one.
    `made`: by the number of a term its expression of z3. `names`: the variables so far.
    """

    laws: Sequence[Truth]
    effort: int
    z3: Any = field(default_factory=load)
    made: dict[int, Any] = field(default_factory=dict)
    solver: Any = None
    names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.solver = self.z3.Solver()
        self.solver.set("rlimit", self.effort)
        self._assume(self.laws)

    def solution(self, formula: Truth) -> Mapping[str, int] | bool:
        """Returns values by variable that make a formula true; False: there are none; True: z3 gave up."""
        self._assume(())
        verdict = self.solver.check(self._formula(formula))
        if verdict == self.z3.unsat:
            return False
        if verdict == self.z3.unknown:
            return True
        model = self.solver.model()
        values = ((name, model.eval(self.z3.Int(name), model_completion=True)) for name in self.names)
        return {name: value.as_long() for name, value in values}

    def _assume(self, laws: Sequence[Truth]) -> None:
        for law in laws:
            self.solver.add(self._formula(law))

    def _formula(self, formula: Truth) -> Any:
        if isinstance(formula, bool):
            return self.z3.BoolVal(formula)
        for name in variables([formula]) - self.names:
            self.names.add(name)
            self.solver.add(self.z3.Int(name) >= 0)
        return self._converted(formula)

    def _converted(self, term: Term) -> Any:
        """Returns a term in z3, from the parts up: a term may be too deep for recursion."""
        stack = [term]
        while stack:
            top = stack[-1]
            if top.number in self.made:
                stack.pop()
                continue
            missing = [part for part in below(top) if part.number not in self.made]
            if missing:
                stack.extend(missing)
                continue
            self.made[top.number] = self._one(top)
            stack.pop()
        return self.made[term.number]

    def _one(self, term: Term) -> Any:
        """Returns a term in z3, whose arguments are there already."""
        z3 = self.z3
        if term.op == "variable":
            return z3.Int(term.args[0])
        if term.op == "sum":
            plain, parts = term.args
            listed = [self.made[part.number] * times for part, times in parts]
            return z3.Sum([*listed, z3.IntVal(plain)] if plain else listed)
        args = [self.made[arg.number] if isinstance(arg, Term) else arg for arg in term.args]
        match term.op:
            case "product":
                return z3.Product(args)
            case "quotient":
                whole = z3.IntSort()
                return z3.Function("quotient", whole, whole, whole)(*args)
            case "if":
                return z3.If(*args)
            case "and":
                return z3.And(*args)
            case "or":
                return z3.Or(*args)
            case "not":
                return z3.Not(args[0])
            case "at least 0":
                return args[0] >= 0
            case _:
                return args[0] == 0
