"""Running models."""
