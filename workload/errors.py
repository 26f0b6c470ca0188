"""The error of values that are not well-formed: scenarios, queries, files of them."""


class WorkloadError(ValueError):
    """A scenario, query or value that is not well-formed.

    Causes: a JSON file of another version or cut short, a name without a definition, a type that does not
    fit. Cure: the message names the object and the problem; correct the file, or generate it again.
    """


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message; the name of its class if the message is empty."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
