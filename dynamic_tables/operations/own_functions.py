"""Functions of one's own in an account: registered, dropped, and made known to the store before a query."""

from __future__ import annotations

from collections.abc import Mapping

from dynamic_tables.definition import DynamicTable, View
from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.journal.events import FunctionDefined, FunctionDropped
from dynamic_tables.journal.state import Operations
from dynamic_tables.operations.tables import AccountTables
from dynamic_tables.own_functions import (
    OwnFunction,
    called,
    created_by,
    dropped_by,
    loaded,
    marks,
    python_function,
)
from dynamic_tables.reading.text.parse import called_names
from dynamic_tables.store.port import FunctionStore


def known_functions(state: Operations) -> Mapping[str, OwnFunction]:
    """Returns the functions of an account by name, by the state of its journal."""
    return {
        name: OwnFunction(
            name=name,
            sql=each.sql,
            parameters=each.parameters,
            body=each.body,
            returns=each.returns,
            immutable=each.immutable,
        )
        for name, each in state.functions.items()
    }


class OwnFunctions(AccountTables):
    """The methods of an account about functions of one's own."""

    def register_function(
        self, name: str, reference: str, *, returns: str, immutable: bool = False
    ) -> OwnFunction:
        """Registers a Python function by `module:function`, or replaces the one of that name.

        The account stores the reference; whatever process refreshes a table loads the module, which must be
        on its path. A function whose parameters are declared as `pandas.Series` is called with series.
        `returns`: the type of its value in SQL. `immutable`: its value depends on its arguments alone. Then
        tables that call it are maintained; tables that call another one are FULL. Where the source of the
        module has changed, these tables are written anew.

        Raises DefinitionError: for a name that Spark or the account uses, or a function that is not there.

        Example: `account.register_function("band", "shop:band", returns="STRING", immutable=True)`.
        """
        with self.lock:
            function = python_function(name, reference, returns, immutable=immutable)
            self.define_function(function, replace=True)
            return function

    def drop_function(self, name: str) -> None:
        """Removes a function. Raises DefinitionError: there is none, or a definition calls it."""
        with self.lock:
            functions, name = self.functions(), name.lower()
            if name not in functions:
                names = ", ".join(functions) or "none"
                raise DefinitionError(f"no function named {name}; there are: {names}")
            callers = {each.name: f"SELECT {each.body}" for each in functions.values() if each.sql}
            definitions = self.store.definitions()
            for other in map(definitions.get, definitions):
                if isinstance(other, View | DynamicTable):
                    callers[other.name] = other.text
            for caller, text in callers.items():
                if name in called_names(text):
                    raise DefinitionError(f"function {name} is called by {caller}; drop that first")
            self.store.journal.add(FunctionDropped(at=self.clock.now(), by=self.process, name=name))
            if isinstance(self.store, FunctionStore):
                self.store.forget_function(name)

    def functions(self) -> Mapping[str, OwnFunction]:
        """Returns the functions of the account by name."""
        with self.lock:
            return known_functions(self.store.journal.poll())

    def run_function_statement(self, text: str) -> None:
        """Runs CREATE FUNCTION or DROP FUNCTION. Raises DefinitionError."""
        name = dropped_by(text)
        if name is not None:
            self.drop_function(name)
            return
        function, replace = created_by(text)
        self.define_function(function, replace=replace)

    def define_function(self, function: OwnFunction, *, replace: bool) -> None:
        """Checks a function against Spark and stores it. Raises DefinitionError."""
        functions, name = self.functions(), function.name
        if not isinstance(self.store, FunctionStore):
            raise DefinitionError("this account's store calls no functions of one's own; open it on Spark")
        if name in functions and not replace:
            raise DefinitionError(f"function {name} exists already; write CREATE OR REPLACE FUNCTION")
        if name not in functions and self.store.knows_function(name):
            raise DefinitionError(f"{name} is a function of Spark; take another name")
        for each in called({**functions, name: function}, (f"SELECT {name}(0)",)):
            found = loaded(each)
            self.store.use_function(found)
        digest = found.digest
        self.store.journal.add(
            FunctionDefined(
                at=self.clock.now(),
                by=self.process,
                name=name,
                sql=function.sql,
                parameters=function.parameters,
                body=function.body,
                returns=function.returns,
                immutable=function.immutable,
                digest=digest,
            )
        )

    def use_functions(self, texts: tuple[str, ...]) -> tuple[str, UnsupportedError | None]:
        """Makes the functions that texts call known to the store, as this process finds them.

        Returns what they add to the fingerprint of a definition, and why it is FULL; None: it is not.
        Raises DefinitionError: a function cannot be loaded here.
        """
        functions = self.functions()
        found = tuple(loaded(each) for each in called(functions, texts)) if functions else ()
        for each in found:
            assert isinstance(self.store, FunctionStore)
            self.store.use_function(each)
        changing = next((each.function.name for each in found if not each.function.immutable), None)
        if changing is None:
            return marks(found), None
        return marks(found), UnsupportedError(
            f"function {changing}", "it is not registered as immutable, so its value may change"
        )
