"""Mutation testing of the harness (`dvs mutants`): plants faults and checks that each is found."""
