"""What NCCL makes of the variables it is given, read in its sources, so that no GPU is needed to know it."""
