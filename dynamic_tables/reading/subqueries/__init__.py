"""Subqueries become joins: EXISTS, IN, scalar subqueries and LATERAL."""
