"""The engine: dynamic tables on Spark and Delta. `account.Account` is its public face."""
