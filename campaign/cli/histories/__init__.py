"""The commands about histories, `dvs check` and `dvs convert`, and what they read and write."""
