"""What happens to an account beside its tables' contents: who refreshes, what failed, what is suspended."""
