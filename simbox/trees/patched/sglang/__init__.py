"""A stand-in for SGLang's tree on a simulated box: its plugin framework, and workers that take time and do nothing."""
