"""From the text of a defining query to a plan."""
