"""Tables on Delta: their folders, versions, and the commits of refreshes."""
