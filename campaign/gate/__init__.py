"""The release gate (`dvs gate`): replays, campaigns, planted faults and a baseline give one verdict."""
