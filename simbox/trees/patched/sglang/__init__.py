"""A stand-in for SGLang's tree on a simulated box: nothing of it ever runs."""
