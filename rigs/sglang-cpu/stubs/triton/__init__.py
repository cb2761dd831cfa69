"""triton, inert: its kernels are decorated at import and never launched on a CPU.

torch.compile would look for it too, hence TORCHDYNAMO_DISABLE=1 beside it. The few functions below are plain
arithmetic that is called at import, so they are real.
"""

import importlib

from inert_package import make_inert

__version__ = "3.9.0"  # a version that passes the comparisons made at import; nothing of it is used
make_inert(__name__)


def cdiv(a, b):
    return -(-a // b)


def next_power_of_2(n):
    return 1 << (int(n) - 1).bit_length() if n > 0 else 1


def jit(fn=None, **options):
    return fn if fn is not None else lambda f: f


def autotune(*args, **options):
    return lambda f: f


heuristics = autotune
runtime = importlib.import_module("triton.runtime")
