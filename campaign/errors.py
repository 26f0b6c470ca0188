"""What can go wrong in the shell around the harness."""


class CampaignError(Exception):
    """Misuse: something asked for cannot be done as asked.

    The text is one line that names the object, says what was found and what to do. The command line
    prints it and exits with `ExitCode.MISUSE`; a failure the harness *found* is a result, not an error.
    """
