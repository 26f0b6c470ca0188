"""The shell around everything: tiers, runner, judge, shrinking, faults, gate and the command line."""
