"""Another version of this program, running scenarios in a process of its own."""
