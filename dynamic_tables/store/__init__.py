"""Where tables live: the interface the engine needs, and Delta behind it."""
