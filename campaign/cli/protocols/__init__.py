"""`dvs protocol`: runs of transaction protocols, judged as histories."""
