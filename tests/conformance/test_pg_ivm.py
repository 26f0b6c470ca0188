"""PostgreSQL with pg_ivm keeps the contract, but for what it gets wrong (`docs/adapters.md`)."""

from campaign.adapters.pg_ivm import PgIvm
from campaign.pytest_plugin import AdapterConformance
from tests.unit.adapters.pglite import needs_pglite


@needs_pglite
class TestPgIvm(AdapterConformance):
    adapter = PgIvm
