"""Other people's suites, and cases from public reports, run against the parser."""
