"""Which causes a session's losses and faults are consistent with, ranked; a pure function of what the run folder holds."""
