"""Looking at a machine: bounded commands, processes, GPUs, fingerprint, leases."""
