"""When things happen: the clock now, lags and periods later."""
