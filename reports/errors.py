"""What can be wrong with results that are to be reported."""


class ReportError(ValueError):
    """Results that contradict themselves, so that a report of them would mislead.

    Causes: outcome counts that do not add up to the scenarios run, an outcome class that does not exist.
    Cure: mend the place that counted; the message gives the figures.
    """
