"""When tables are refreshed: clock, lags, periods, what is due, what follows a failure. Without files."""
