"""From a file to its verdicts: which history is read, what is asked of it, what is found."""
