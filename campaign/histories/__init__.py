"""Histories that are judged by many machines."""
