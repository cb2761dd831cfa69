"""One server run: command line, supervisor, readiness, environment proof, stop."""
