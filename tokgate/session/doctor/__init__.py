"""`tokgate doctor`: everything that would make a gate fail later, looked for in seconds, one module a subject."""
