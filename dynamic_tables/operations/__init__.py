"""The operations of an account: refreshes by schedule and by command, groups, renames, rights, its state."""
