"""The verdicts on a history: its levels, explanations, minimised histories and anomalies by name."""
