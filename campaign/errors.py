"""The error that the commands of `dvs` raise for requests that cannot be carried out."""


class CampaignError(Exception):
    """Raised for a request that cannot be carried out as it is: an unknown name, a file that is missing.

    The text is one line that names the object, says what is wrong and what to do. The command line prints
    the line and exits with `ExitCode.MISUSE`. A failure of the engine under test is a result, not an error.
    """
