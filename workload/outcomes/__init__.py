"""What comes out: traces of runs, results of judging, and whether a run is a pass."""
