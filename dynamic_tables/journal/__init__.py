"""The events of an account's journal, and the state that they add up to: pure, without files."""
