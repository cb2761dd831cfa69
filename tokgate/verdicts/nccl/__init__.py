"""The NCCL block of an arm against what its processes were given, said and did."""
