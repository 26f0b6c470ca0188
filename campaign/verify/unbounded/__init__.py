"""Rules of the engine proven for any number of rows: bags whose multiplicities are symbols, and a solver."""
