"""What can be wrong with a value of this package."""


class WorkloadError(ValueError):
    """A scenario, query or value that does not make sense.

    Causes: a JSON file of another version or cut short, a name that nothing defines, a type that does
    not fit. Cure: the message names the object and what was found; regenerate the file or mend it there.
    """
