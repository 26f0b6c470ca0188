"""One refresh: which versions, which action, the change set, its validations, its commit."""
