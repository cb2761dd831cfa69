"""What a person and a machine read afterwards."""
