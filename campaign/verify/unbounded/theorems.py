"""Theorem 1, corollary 2 and the vertices of the DSG for histories of any length: steps of inductions, by z3.

A history is a structure of any size: its versions and transactions are of sorts without elements of their
own, and its relations are arbitrary but for the laws of histories. What is behind a version follows from what
is behind its sources, so a claim about it is shown for one version, given that it holds for all versions that
were made before. A claim is negated, and z3 shows that the negation has no model. The definitions of edges
are written here once more, from docs/notation.md; a test compares them with the other two on drawn histories.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from campaign.verify.unbounded.prove import Outcome
from campaign.verify.unbounded.solve import EFFORT, load
from workload.outcomes.decision import Decision

Formula = Any
"""A formula or term of z3, which has no types."""

SMALL = 3
"""Versions of a history that keeps the laws; two more if it refutes a claim: the four of an edge, and one."""

PROOF = EFFORT // 20
"""As `EFFORT`, for a claim about any history: the proofs take a tenth of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The relations of a history, as functions that return formulas of z3 for versions v and transactions t.

    `source(v, s)`: v derives from s. `behind(v, b)`: b is a base version from which v derives at any depth.
    `following(v, w)`: w is the next version after v. `read(t, v)`: t is committed and reads v, also by a
    predicate where v is derived. `made`, `ended`: the places of events. `installed`: committed and final.
    """

    object: Callable[[Formula], Formula]
    derived: Callable[[Formula], Formula]
    by: Callable[[Formula], Formula]
    installed: Callable[[Formula], Formula]
    source: Callable[[Formula, Formula], Formula]
    behind: Callable[[Formula, Formula], Formula]
    following: Callable[[Formula, Formula], Formula]
    read: Callable[[Formula, Formula], Formula]
    made: Callable[[Formula], Formula]
    ended: Callable[[Formula], Formula]


@dataclass(frozen=True, slots=True)
class Edge:
    """A kind of dependency from i to j with an object. `body`: a formula over i, j, the object and versions.

    There is a dependency where some versions, as many as `versions`, make the body true.
    """

    versions: int
    body: Callable[..., Formula]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim: from laws of histories, each with a name, a formula follows."""

    name: str
    laws: Mapping[str, Formula]
    formula: Formula


@dataclass(frozen=True, slots=True)
class Shown:
    """The verdict of z3 on a claim. `seconds`: CPU time."""

    claim: str
    outcome: Outcome
    seconds: float


class Theory:
    """The sorts and relations of histories in z3, and what is claimed of them."""

    def __init__(self) -> None:
        self.z3 = load()
        self.version, self.txn, self.named = map(self.z3.DeclareSort, ("Version", "Transaction", "Object"))
        self.history = self.arbitrary("")

    def arbitrary(self, mark: str) -> Parts:
        """Returns the relations of an arbitrary history; `mark`: tells its names from those of others."""
        z3, version, txn = self.z3, self.version, self.txn

        def function(name: str, *sorts: Formula) -> Callable[..., Formula]:
            made: Callable[..., Formula] = z3.Function(f"{name}{mark}", *sorts)
            return made

        boolean, place = z3.BoolSort(), z3.IntSort()
        return Parts(
            object=function("object", version, self.named),
            derived=function("derived", version, boolean),
            by=function("by", version, txn),
            installed=function("installed", version, boolean),
            source=function("source", version, version, boolean),
            behind=function("behind", version, version, boolean),
            following=function("following", version, version, boolean),
            read=function("read", txn, version, boolean),
            made=function("made", version, place),
            ended=function("ended", txn, place),
        )

    def constants(self, text: str, sort: Formula = None) -> Sequence[Formula]:
        """Returns constants with the names in a text; they are versions if no sort is given."""
        return [self.z3.Const(name, self.version if sort is None else sort) for name in text.split()]

    def unfolded(self, h: Parts, v: Formula, b: Formula) -> Formula:
        """Returns whether b is behind v by the definition: a base version, a source of v or behind one."""
        z3, (s,) = self.z3, self.constants("s")
        one = z3.Exists([s], z3.And(h.source(v, s), z3.Or(s == b, h.behind(s, b))))
        return z3.And(z3.Not(h.derived(b)), one)

    def laws(self, h: Parts) -> Mapping[str, Formula]:
        """Returns what holds of every history."""
        z3, (v, s, b), (t,) = self.z3, self.constants("v s b"), self.constants("t", self.txn)
        return {
            "what is behind a version": z3.ForAll([v, b], h.behind(v, b) == self.unfolded(h, v, b)),
            "sources are older": z3.ForAll([v, s], z3.Implies(h.source(v, s), h.made(s) < h.made(v))),
            "only derived versions have sources": z3.ForAll([v, s], z3.Implies(h.source(v, s), h.derived(v))),
            "what follows is of the same kind": z3.ForAll(
                [v, s], z3.Implies(h.following(v, s), h.derived(v) == h.derived(s))
            ),
            "a reader has not ended": z3.ForAll([t, v], z3.Implies(h.read(t, v), h.made(v) < h.ended(t))),
        }

    def edges(self, h: Parts) -> Mapping[str, Edge]:
        """Returns the kinds of dependencies, by the reading rules of docs/notation.md."""
        z3 = self.z3

        def seen(v: Formula, b: Formula) -> Formula:
            return z3.If(h.derived(v), h.behind(v, b), v == b)

        def read(i: Formula, j: Formula, o: Formula, v: Formula, b: Formula) -> Formula:
            own = z3.Or(h.derived(b), h.by(b) == j)
            written = z3.And(h.installed(b), h.by(b) == i, h.object(b) == o)
            return z3.And(h.read(j, v), seen(v, b), z3.Not(own), written)

        def missed(i: Formula, j: Formula, o: Formula, v: Formula, b: Formula, n: Formula) -> Formula:
            own = z3.Or(h.derived(b), h.by(b) == i)
            later = z3.And(h.following(b, n), h.by(n) == j, h.object(b) == o)
            return z3.And(h.read(i, v), seen(v, b), z3.Not(own), later, i != j)

        def written(i: Formula, j: Formula, o: Formula, a: Formula, b: Formula) -> Formula:
            base = z3.And(z3.Not(h.derived(a)), h.installed(a), h.following(a, b))
            return z3.And(base, h.by(a) == i, h.by(b) == j, h.object(a) == o, i != j)

        def behind_both(
            i: Formula, j: Formula, o: Formula, v: Formula, w: Formula, a: Formula, b: Formula
        ) -> Formula:
            through = z3.And(h.derived(v), h.following(v, w), h.object(v) == o)
            ends = z3.And(h.installed(a), h.installed(b), h.by(a) == i, h.by(b) == j, i != j)
            return z3.And(through, h.behind(v, a), h.behind(w, b), ends)

        def changed(
            i: Formula, j: Formula, o: Formula, v: Formula, w: Formula, a: Formula, b: Formula
        ) -> Formula:
            only = z3.And(z3.Not(h.behind(w, a)), z3.Not(h.behind(v, b)))
            return z3.And(behind_both(i, j, o, v, w, a, b), only, h.ended(j) > h.made(a))

        return {
            "wr": Edge(2, read),
            "rw": Edge(3, missed),
            "ww": Edge(2, written),
            "ww through derived versions, changed": Edge(4, changed),
            "ww through derived versions, letter": Edge(4, behind_both),
        }

    def kept(
        self,
        title: str,
        old: Parts,
        new: Parts,
        laws: Mapping[str, Formula],
        there: Callable[[Formula], Formula] = lambda v: v,
        back: Callable[[Formula], Formula] = lambda v: v,
    ) -> Iterator[Claim]:
        """Yields the claims that two histories have the same dependencies, each by the versions that show it.

        `there`, `back`: the version of the other history that stands for a version.
        """
        z3, (i, j), (o,) = self.z3, self.constants("i j", self.txn), self.constants("o", self.named)
        others = self.edges(new)
        for kind, edge in self.edges(old).items():
            versions = self.constants(" ".join(f"v{n}" for n in range(edge.versions)))
            before, after = edge.body(i, j, o, *versions), others[kind].body
            lost = z3.Implies(before, after(i, j, o, *map(there, versions)))
            yield Claim(f"{title}: no {kind} is lost", laws, lost)
            found = z3.Implies(after(i, j, o, *versions), edge.body(i, j, o, *map(back, versions)))
            yield Claim(f"{title}: no {kind} is new", laws, found)

    def theorem_1(self) -> Iterator[Claim]:
        """Yields the claims of theorem 1: a derivation z moves to a transaction t, and is called y there."""
        z3, h, any_ = self.z3, self.history, self.arbitrary("'")
        (z, y, v, s, b), (t, k) = self.constants("z y v s b"), self.constants("t k", self.txn)

        def there(one: Formula) -> Formula:
            return z3.If(one == z, y, one)

        def back(one: Formula) -> Formula:
            return z3.If(one == y, z, one)

        moved = Parts(
            object=lambda a: h.object(back(a)),
            derived=lambda a: h.derived(back(a)),
            by=lambda a: z3.If(a == y, t, h.by(a)),
            installed=lambda a: h.installed(back(a)),
            source=lambda a, c: z3.And(a != z, c != z, h.source(back(a), back(c))),
            behind=any_.behind,
            following=lambda a, c: z3.And(a != z, c != z, h.following(back(a), back(c))),
            read=lambda r, a: z3.And(a != z, h.read(r, back(a))),
            made=lambda a: h.made(back(a)),
            ended=h.ended,
        )
        nothing = [h.source(v, y), h.source(y, v), h.following(v, y), h.following(y, v), h.behind(y, v)]
        laws = {
            **self.laws(h),
            "z is derived": h.derived(z),
            "y is new": z3.And(
                y != z,
                h.derived(y),
                z3.ForAll([v], z3.Not(z3.Or(nothing))),
                z3.ForAll([k], z3.Not(h.read(k, y))),
            ),
        }
        new_laws = {f"then, {name}": law for name, law in self.laws(moved).items() if "behind" in name}
        older = z3.ForAll([s, b], z3.Implies(h.source(v, s), moved.behind(there(s), b) == h.behind(s, b)))
        step = {**laws, **new_laws, "so it is for the sources": older, "v is no new version": v != y}
        same = moved.behind(there(v), b) == h.behind(v, b)
        yield Claim("theorem 1: the same is behind a version, if it is so for its sources", step, same)
        all_same = z3.ForAll([v, b], z3.Implies(v != y, moved.behind(there(v), b) == h.behind(v, b)))
        for_all = {**laws, "the same is behind each version": all_same, **new_laws}
        yield from self.kept("theorem 1", h, moved, for_all, there, back)

    def moved_past_events(self) -> Iterator[Claim]:
        """Yields the claims that no dependency changes if derivations alone take place at other times."""
        z3, h, other, (v,) = self.z3, self.history, self.arbitrary("'"), self.constants("v")
        later = Parts(**{**_fields(h), "made": other.made})
        laws = {
            **self.laws(h),
            "written versions are made as before": z3.ForAll(
                [v], z3.Implies(z3.Not(h.derived(v)), h.made(v) == later.made(v))
            ),
        }
        yield from self.kept("a derivation moved past any event", h, later, laws)

    def corollary_2(self) -> Iterator[Claim]:
        """Yields the claims of corollary 2: an encapsulated derivation z of the transaction t is left out.

        Its reads go with it. What derives from it derives from its sources instead.
        """
        z3, h, any_ = self.z3, self.history, self.arbitrary("'")
        (z, v, s, b), (t, k) = self.constants("z v s b"), self.constants("t k", self.txn)
        less = Parts(
            **{
                **_fields(h),
                "source": lambda a, c: z3.And(
                    a != z, c != z, z3.Or(h.source(a, c), z3.And(h.source(a, z), h.source(z, c)))
                ),
                "behind": any_.behind,
                "following": lambda a, c: z3.And(a != z, c != z, h.following(a, c)),
                "read": lambda r, a: z3.And(a != z, h.read(r, a)),
            }
        )
        laws = {
            **self.laws(h),
            "z is derived": h.derived(z),
            "only its transaction reads it": z3.ForAll([k], z3.Implies(h.read(k, z), k == t)),
            "every version behind it is the transaction's own": z3.ForAll(
                [b], z3.Implies(h.behind(z, b), h.by(b) == t)
            ),
            "its object has no other version": z3.ForAll(
                [v], z3.Not(z3.Or(h.following(v, z), h.following(z, v)))
            ),
        }
        new_laws = {f"then, {name}": law for name, law in self.laws(less).items() if "behind" in name}
        older = z3.ForAll(
            [s, b],
            z3.Implies(z3.And(h.made(s) < h.made(v), s != z), less.behind(s, b) == h.behind(s, b)),
        )
        step = {**laws, **new_laws, "so it is for older versions": older, "v is left": v != z}
        same = less.behind(v, b) == h.behind(v, b)
        yield Claim("corollary 2: the same is behind a version, if it is so for older ones", step, same)
        all_same = z3.ForAll([v, b], z3.Implies(v != z, less.behind(v, b) == h.behind(v, b)))
        for_all = {**laws, **new_laws, "the same is behind each version": all_same}
        yield from self.kept("corollary 2", h, less, for_all)

    def encoding(self) -> Iterator[Claim]:
        """Yields the claims on the vertices of derived versions in the DSG, given those of their sources."""
        z3, h = self.z3, self.history
        (v, s, b, n), (t,) = self.constants("v s b n"), self.constants("t", self.txn)
        laws = self.laws(h)

        def installer(one: Formula, who: Formula) -> Formula:
            return z3.And(h.installed(one), h.by(one) == who)

        def next_installer(one: Formula, who: Formula) -> Formula:
            return z3.Exists([n], z3.And(h.following(one, n), h.by(n) == who))

        for name, of_base in (("behind", installer), ("missed", next_installer)):
            vertex = z3.Function(f"vertex {name}", self.version, self.txn, z3.BoolSort())

            def due(one: Formula, who: Formula, of: Callable[..., Formula] = of_base) -> Formula:
                return z3.Exists([b], z3.And(h.behind(one, b), of(b, who)))

            arcs = z3.Or(z3.And(h.derived(s), vertex(s, t)), z3.And(z3.Not(h.derived(s)), of_base(s, t)))
            step = {
                **laws,
                "arcs of the vertex": z3.ForAll(
                    [t], vertex(v, t) == z3.Exists([s], z3.And(h.source(v, s), arcs))
                ),
                "so it is for the sources": z3.ForAll(
                    [s, t], z3.Implies(z3.And(h.source(v, s), h.derived(s)), vertex(s, t) == due(s, t))
                ),
            }
            title = f"the vertex `{name}` of a version is connected with"
            yield Claim(f"{title} all that it must be", step, z3.Implies(due(v, t), vertex(v, t)))
            yield Claim(f"{title} nothing else", step, z3.Implies(vertex(v, t), due(v, t)))

    def carried(self) -> Iterator[Claim]:
        """Yields the claims on the transactions that the encoding carries along a version (`carried`)."""
        z3, h = self.z3, self.history
        (v, s, b), (t, k) = self.constants("v s b"), self.constants("t k", self.txn)
        laws = self.laws(h)
        carried = z3.Function("carried", self.version, self.txn, z3.BoolSort())
        own = z3.Or(z3.And(z3.Not(h.derived(s)), h.by(s) == t), z3.And(h.derived(s), carried(s, t)))
        step = {
            **laws,
            "who is carried": z3.ForAll(
                [v, t],
                carried(v, t) == z3.And(h.made(v) < h.ended(t), z3.Exists([s], z3.And(h.source(v, s), own))),
            ),
            "so it is for the sources": z3.ForAll(
                [s, b],
                z3.Implies(
                    z3.And(h.source(v, s), h.behind(s, b), h.made(s) < h.ended(h.by(b))),
                    carried(s, h.by(b)),
                ),
            ),
        }
        premise = z3.And(h.behind(v, b), h.made(v) < h.ended(h.by(b)))
        claim = z3.Implies(premise, carried(v, h.by(b)))
        yield Claim("`carried` names all whose own versions are behind one while they last", step, claim)
        for_all = {
            **laws,
            "all are carried": z3.ForAll(
                [v, b],
                z3.Implies(z3.And(h.behind(v, b), h.made(v) < h.ended(h.by(b))), carried(v, h.by(b))),
            ),
        }
        not_own = z3.Implies(z3.And(h.read(k, v), z3.Not(carried(v, k)), h.behind(v, b)), h.by(b) != k)
        yield Claim(
            "a reader that is not carried has nothing of its own behind a read version", for_all, not_own
        )

    def claims(self) -> Iterator[Claim]:
        """Yields all claims."""
        yield from self.theorem_1()
        yield from self.moved_past_events()
        yield from self.corollary_2()
        yield from self.encoding()
        yield from self.carried()

    def shown(self, claim: Claim, without: str = "") -> Shown:
        """Tells whether a claim follows from its laws; `without`: a law that is left out.

        Laws that no history keeps prove everything: then the claim is unknown. A history that keeps the laws,
        and one that refutes a claim, are looked for among small ones.
        """
        start = time.process_time()
        solver = self.z3.Solver()
        solver.set("rlimit", PROOF)
        laws = [law for name, law in claim.laws.items() if name != without]
        solver.add(*laws)
        denied = self.z3.Not(claim.formula)
        outcome = Outcome.UNKNOWN
        if solver.check(denied) == self.z3.unsat:
            if self.model_of(laws, SMALL):
                outcome = Outcome.PROVED
        elif self.model_of([*laws, denied], SMALL + 2):
            outcome = Outcome.REFUTED
        return Shown(claim.name, outcome, time.process_time() - start)

    def model_of(self, formulas: Sequence[Formula], size: int) -> bool:
        """Returns whether formulas have a model of so many versions, transactions and objects.

        "For all" is then a conjunction over these elements, and "there is" a disjunction: z3 has nothing to
        guess. For a model of any size it guesses, and takes a tenth of a second, or two minutes.
        """
        z3, unfolded_terms = self.z3, dict[int, tuple[Formula, Formula]]()
        sorts = (self.version, self.txn, self.named)
        elements = {
            sort.name(): self.constants(" ".join(f"{sort}{n}" for n in range(size)), sort) for sort in sorts
        }

        def unfolded(term: Formula) -> Formula:
            if term.get_id() in unfolded_terms:
                return unfolded_terms[term.get_id()][1]
            if z3.is_quantifier(term):
                each = [elements[term.var_sort(n).name()] for n in reversed(range(term.num_vars()))]
                parts = [unfolded(z3.substitute_vars(term.body(), *some)) for some in product(*each)]
                result = z3.And(parts) if term.is_forall() else z3.Or(parts)
            elif term.num_args():
                result = term.decl()(*map(unfolded, term.children()))
            else:
                result = term
            if result.sort().name() in elements:
                solver.add(z3.Or([result == element for element in elements[result.sort().name()]]))
            # With the term itself: z3 gives the number of a term that is no longer used to another one.
            unfolded_terms[term.get_id()] = term, result
            return result

        solver = z3.SolverFor("QF_UFLIA")
        solver.set("rlimit", EFFORT)
        solver.add(*map(unfolded, formulas))
        return bool(solver.check() == z3.sat)


def _fields(parts: Parts) -> dict[str, Any]:
    return {name: getattr(parts, name) for name in Parts.__dataclass_fields__}


def show_all(progress: Callable[[Shown], None] = lambda shown: None) -> Sequence[Shown]:
    """Shows every claim. Raises CampaignError: z3 is not installed."""
    theory, found = Theory(), []
    for claim in theory.claims():
        found.append(theory.shown(claim))
        progress(found[-1])
    return found


def decision_of_theorems(shown: Sequence[Shown]) -> Decision:
    """Returns whether every claim is proved; undecided where z3 gave up on one, or nothing was claimed."""
    outcomes = {each.outcome for each in shown}
    if Outcome.REFUTED in outcomes:
        return Decision.FAILED
    return Decision.PASSED if outcomes == {Outcome.PROVED} else Decision.UNDECIDED
