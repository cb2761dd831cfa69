"""Rig files: models, loading, overrides, errors that name file and key."""
