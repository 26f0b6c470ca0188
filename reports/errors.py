"""The error that reports raise."""


class ReportError(ValueError):
    """Results that contradict themselves: outcomes that do not add up, or of an unknown class.

    This is a bug of the code that counted them; the message gives the numbers.
    """
