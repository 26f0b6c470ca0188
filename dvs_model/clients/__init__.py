"""The verdicts on histories that clients recorded: Adya's levels, and those that clients can ask for."""
