"""What several programs for the host share; sent along with those that import it (hosts/connection.py)."""
