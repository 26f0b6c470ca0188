"""Large histories of the notation as arrays, and the part of one on which its verdicts depend."""
