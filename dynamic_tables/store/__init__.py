"""Where tables live: the interface that the engine needs (`port`), and its implementation on Delta."""
