"""Rules of the engine proven for every small world: all inputs and all changes up to a stated bound."""
