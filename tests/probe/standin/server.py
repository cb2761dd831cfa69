"""Two processes' worth of a server in one: what is not a scheduler loads the plugins too, elsewhere in its calls.

python server.py scheduler|detokenizer CYCLES: runs so many cycles, says "ran CYCLES", and ends when told by a line.
"""

import sys
from typing import Any

from sglang.srt.plugins import load_plugins


class Mode:
    def __init__(self, *, decode: bool) -> None:
        self._decode = decode

    def is_decode(self) -> bool:
        return self._decode

    def is_idle(self) -> bool:
        return False


class Batch:
    is_extend_in_batch = False
    can_run_cuda_graph = True

    def __init__(self, *, decode: bool) -> None:
        self.forward_mode = Mode(decode=decode)
        self.reqs = [object(), object()]


class Arguments:
    device = "cpu"
    speculative_algorithm = "EAGLE3"


def run_scheduler_process(server_args: Any, tp_rank: int, gpu_id: int, cycles: int) -> None:
    load_plugins()
    from sglang.srt.speculative.eagle_worker_v2 import EAGLEWorkerV2

    worker = EAGLEWorkerV2()
    worker.forward_batch_generation(Batch(decode=False))
    for _ in range(cycles):
        assert worker.forward_batch_generation(Batch(decode=True)).reqs
    print(f"ran {cycles}", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    if sys.argv[1] == "scheduler":
        run_scheduler_process(Arguments(), 3, 5, int(sys.argv[2]))
    else:
        load_plugins()
        print("ran 0", flush=True)
