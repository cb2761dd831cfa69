"""What ties the keys of a rig together, beyond the type of each."""
