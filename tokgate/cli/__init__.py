"""The tokgate command."""
