"""Changes of plans that keep their rows: pushed conditions, stages, keys that are looked up."""
