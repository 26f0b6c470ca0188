"""The judging of histories whose operations lie on a Spark cluster."""
