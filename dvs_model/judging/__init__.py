"""From a file to its verdicts: the reading of histories, the options of `dvs check`, the Python interface."""
