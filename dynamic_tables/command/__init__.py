"""The command `dvs-tables`, which keeps an account fresh and shows how it is."""
