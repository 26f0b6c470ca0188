"""The log of Delta tables and the account's journal: commits read and written as files."""
