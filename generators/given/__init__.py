"""Scenarios over given definitions: tables, and random rows and statements that keep their promises."""
