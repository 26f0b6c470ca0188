"""The query of a dynamic table, bound to what it reads now, ready for a refresh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dynamic_tables.define import ReadQuery, hidden_columns, named_types, read_query
from dynamic_tables.definition import BaseTable, Columns, Definition, DynamicTable, RefreshMode, fingerprint
from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.operations.own_functions import OwnFunctions
from dynamic_tables.operations.reading import sources_now
from dynamic_tables.operations.tables import PlanInputs
from dynamic_tables.plan.nodes import BoundQuery
from dynamic_tables.reading.text.current_time import text_reads_time
from dynamic_tables.reading.text.text import read_text
from dynamic_tables.refresh.execute import Refreshing
from dynamic_tables.store.port import TextAnalyzer


class Binding(OwnFunctions):
    """An account that binds the queries of its tables, anew only when what a plan depends on changes."""

    def refreshing(self, table: DynamicTable) -> Refreshing:
        """Returns a refresh of one table alone, not yet run. Raises DefinitionError: a source was dropped."""
        definitions = self.store.definitions()
        table = replace(table, sources=sources_now(table, definitions))
        sources, inputs = self._plan_inputs(table)
        entry = self.bound.get(table.name)
        if entry is None or entry[0] != inputs:
            if entry is not None:
                self.plans.forget()
            entry = (inputs, *self._read(table, definitions))
            self.bound[table.name] = entry
        _, bound, columns = entry
        if table.incremental and bound is None:
            table = self._not_maintained(table, definitions)
        if table.frozen_where and columns != table.columns:
            raise DefinitionError(
                f"the query of {table.name} gives {named_types(columns)} now, and other columns would change "
                f"its frozen part; replace it by a query that gives {named_types(table.columns)}"
            )
        digest = fingerprint(inputs[0], columns, sources.values(), incremental=table.incremental)
        expanded = digest + str(inputs[1][-1])
        keeps_state = table.incremental and not table.frozen_where
        state = hidden_columns(bound, self.rules) if keeps_state else ()
        return Refreshing(
            table=replace(table, columns=columns, expanded=expanded, state=state),
            bound=bound,
            definitions=sources,
            store=self.store,
            plans=self.plans,
            protocol=self.protocol,
            reads_time=any(map(text_reads_time, inputs[0])),
            took=self.store.journal.poll().of(table.name).took,
        )

    def _plan_inputs(self, table: DynamicTable) -> tuple[dict[str, BaseTable | DynamicTable], PlanInputs]:
        """Returns the sources of a table, and what its plan depends on: a plan is made once for each value.

        A view or the columns of a source may change after the table was created.

        Raises DefinitionError: a source was dropped.
        """
        definitions = self.store.definitions()
        sources: dict[str, BaseTable | DynamicTable] = {}
        for source in table.sources:
            definition = definitions.get(source)
            if not isinstance(definition, BaseTable | DynamicTable):
                raise DefinitionError(
                    f"{table.name} reads {source}, which was dropped or renamed; bring it back, "
                    f"or replace {table.name}"
                )
            sources[source] = definition
        texts = read_text(table.text, definitions).texts
        marks, changing = self.use_functions(texts)
        return sources, (texts, (*sources.values(), table.columns, changing is None, marks))

    def _read(
        self, table: DynamicTable, definitions: Mapping[str, Definition]
    ) -> tuple[BoundQuery | None, Columns]:
        """Returns plan and columns of a table's query; no plan for a FULL table, whose text Spark runs."""
        if not table.incremental and self._analyzer is not None:
            names = read_text(table.text, definitions).names
            return None, self._analyzer.columns_of_text(table.text, names)
        read = read_query(table.text, definitions, self.rules, self._analyzer)
        unsupported = self._unsupported(read)
        if not table.incremental or unsupported is None:
            return read.bound, table.columns if read.bound is None else read.bound.schema
        # What it reads was changed, so that the changes of the query cannot be computed any more.
        if table.mode is RefreshMode.INCREMENTAL or self._analyzer is None:
            reason = f"{table.name} cannot be INCREMENTAL any more: {unsupported}"
            raise DefinitionError(f"{reason}; replace it, or what it reads")
        return None, self._analyzer.columns_of_text(table.text, read.text.names)

    def _not_maintained(self, table: DynamicTable, definitions: Mapping[str, Definition]) -> DynamicTable:
        """Returns an AUTO table as a FULL one, with the reason."""
        read = read_query(table.text, definitions, self.rules, self._analyzer)
        return replace(table, incremental=False, reason=str(self._unsupported(read)), state=())

    def _unsupported(self, read: ReadQuery) -> UnsupportedError | None:
        """Returns why a query cannot be maintained, its functions included; None where it can."""
        return self.use_functions(read.text.texts)[1] or read.unsupported

    @property
    def _analyzer(self) -> TextAnalyzer | None:
        return self.store if isinstance(self.store, TextAnalyzer) else None
