"""Results as HTML, Markdown, JUnit XML, JSON and SARIF."""
