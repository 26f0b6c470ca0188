"""What things mean, executed literally: slow, and sharing nothing with what is judged by it."""
