"""The managers."""
