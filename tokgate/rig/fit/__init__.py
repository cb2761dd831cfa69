"""Does what the rig asks for fit: the draft its target, models the GPUs, prompts the model. Pure functions."""
