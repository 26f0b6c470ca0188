"""From a plan to the plan of its changes: one rule per operator, all in `registry`."""
