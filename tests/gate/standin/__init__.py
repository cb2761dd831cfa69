"""A small program that behaves as `sglang.launch_server` does, and misbehaves on order."""
