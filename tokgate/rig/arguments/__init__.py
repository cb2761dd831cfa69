"""The arguments that SGLang's server takes, by version, and those of a rig that it does not."""
