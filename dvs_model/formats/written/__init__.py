"""Histories of clients written as other programs write them, so that their checkers can read them."""
