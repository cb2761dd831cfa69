"""What a gate needs beside its code, wherever it is installed: rigs with their prompts and baselines, and programs that servers run.

In a checkout these are links to the folders at the top; in an installed package they are the folders themselves.
`tokgate.rig.shipped` says where they lie.
"""
