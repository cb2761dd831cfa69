"""The promises about a server, one file each, readable as the specification of the gate."""
