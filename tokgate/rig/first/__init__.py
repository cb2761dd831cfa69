"""The first rig of a host: what fits what, which settings a first gate takes, and the reason of each."""
