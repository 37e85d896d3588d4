"""Several processes that talk over gloo on the loopback address.

`python ranks.py MODULE DIRECTORY SIZE ...` imports a module of this folder once and runs its `main(rank, size, directory)` in so many forked
processes, one size after the other. What they find they write into the directory. No process outlives its time. Where RANK_ISAS names
instruction sets, each rank imports the module itself, with the next of them. RANK_RUNS says how often all of this is done; the number of a run is
in RANK_RUN, and in each but the first a rank may end itself by SIGKILL.
"""

import gc
import importlib
import os
import pathlib
import signal
import subprocess
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = int(os.environ.get("RANK_SECONDS", "240"))


def run(module: str, directory: pathlib.Path, *sizes: int, env: dict[str, str] | None = None) -> str:
    """Run the module's ranks; an error of one of them is an AssertionError here, with what they said."""
    command = [sys.executable, str(HERE / "ranks.py"), module, str(directory), *map(str, sizes)]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | (env or {}),
        timeout=3 * SECONDS,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def _rank(name: str, rank: int, size: int, directory: pathlib.Path) -> None:
    signal.alarm(SECONDS)
    isas = os.environ.get("RANK_ISAS", "").split()
    if isas:
        os.environ["REPMATH_ISA"] = isas[rank % len(isas)]
    module = importlib.import_module(name)

    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{directory}/store-{size}-{os.environ['RANK_RUN']}", rank=rank, world_size=size
    )
    module.main(rank, size, directory)
    dist.barrier()
    gc.collect()  # models that hold a group are gone before it is
    dist.destroy_process_group()


def main() -> int:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.path.insert(0, str(HERE))
    name, directory, *sizes = sys.argv[1:]
    if not os.environ.get("RANK_ISAS"):
        importlib.import_module(name)
    runs = int(os.environ.get("RANK_RUNS", "1"))
    for run_, size in ((i, int(size)) for i in range(runs) for size in sizes):
        os.environ["RANK_RUN"] = str(run_)
        children = []
        for rank in range(size):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    _rank(name, rank, size, pathlib.Path(directory))
                    code = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(code)
            children.append(child)
        ends = [os.waitpid(child, 0)[1] for child in children]
        if any(status and not (run_ and status == signal.SIGKILL) for status in ends):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
