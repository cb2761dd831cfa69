"""The promises, one module each: evidence in, verdicts out; no files, clock or network.

Every check returns at least one verdict, and none of them can pass on nothing: what cannot be
judged is `invalid` with its reason.
"""
