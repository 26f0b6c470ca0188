"""One refresh: its source versions, its action, its change set with the validations, its commit."""
