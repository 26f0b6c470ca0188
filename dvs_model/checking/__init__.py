"""What is said of a history: levels, explanations, smallest histories, names of anomalies."""
