"""Every operator, kind of value, array function and model beside the library that has it: python -m bench.sweep [options]

Results are lines of JSON in bench/results/sweep/, where a sweep that was stopped goes on. A case runs for some milliseconds; one that
takes longer than the limit for a case is stopped, and listed as such. On one thread the time is that of the CPU, which other processes do
not lengthen; on several it is the time that passes.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from ..run import held_to_avx2

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="python -m bench.sweep", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="cases that differ in one factor at most from the first of their function"
    )
    parser.add_argument(
        "--all", action="store_true", help="all combinations, not those that differ in two factors at most (days)"
    )
    parser.add_argument("--avx2", action="store_true", help="hold all libraries to AVX2")
    parser.add_argument("--only", nargs="+", help="cases whose group and name contain one of these words")
    for name, what in (("group", "groups"), ("dtype", "formats"), ("values", "kinds of values"), ("direction", "directions")):
        parser.add_argument(f"--{name}", nargs="+", help=f"these {what} alone")
    parser.add_argument("--threads", nargs="+", type=int, default=[1], help="numbers of threads")
    parser.add_argument("--budget", type=float, default=30.0, help="milliseconds for each side of a case")
    parser.add_argument(
        "--longest",
        type=float,
        default=60.0,
        help="seconds of the CPU after which a case is stopped; ten times as many of a clock, too",
    )
    parser.add_argument(
        "--pause", type=float, default=0.15, help="seconds in which idle threads of the other library fall asleep"
    )
    parser.add_argument("--limit", type=float, default=15.0, help="ratios above it are listed")
    parser.add_argument("--most", type=int, default=200, help="how many cases a list has at most")
    parser.add_argument("--results", type=pathlib.Path, help="the file of results")
    parser.add_argument("--fresh", action="store_true", help="begin the file of results anew")
    parser.add_argument("--report", action="store_true", help="measure nothing, print what the file has")
    parser.add_argument(
        "--coverage", action="store_true", help="print which operators of docs/aten.md no case of these calls"
    )
    parser.add_argument(
        "--overheads",
        action="store_true",
        help="print what a small call of each operator takes longer, on one thread, and stop",
    )
    parser.add_argument("--skipped", action="store_true", help="print the cases that were skipped, with the reason")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.results is None:
        import repmath

        options.results = ROOT / "bench/results/sweep" / f"{'avx2' if options.avx2 else repmath.config()['isa']}.jsonl"
    return options


def last(path):
    """The last line that is whole."""
    if not path.exists():
        return None
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        *_, line, _ = b"", *file.read().split(b"\n")
    try:
        return json.loads(line)
    except ValueError:
        return None


def stop(options, begun, why):
    """A case whose process had to be ended has the time that it took until then."""
    del begun["began"]
    with open(options.results, "a") as file:
        file.write(json.dumps({**begun, **why}) + "\n")


def environment(options):
    return os.environ | {"PYTHONWARNINGS": "ignore"} | (held_to_avx2() if options.avx2 else {})


def seconds(pid):
    """That a process had of the CPU, of Linux; elsewhere those that pass."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return time.time()


def supervise(options, command):
    """Runs the measuring process, and starts it anew after a case that ended it or that it did not end."""
    earlier = last(options.results)  # a case in which an earlier sweep was stopped is measured again
    while True:
        process = subprocess.Popen(command, cwd=ROOT, env=environment(options))
        begun, watched, then = None, None, 0.0
        try:
            while process.poll() is None and begun is None:
                time.sleep(0.2)
                line = last(options.results)
                if line != watched:
                    watched, then = line, seconds(process.pid)
                elif line and line != earlier and "began" in line:
                    if max(seconds(process.pid) - then, (time.time() - line["began"]) / 10) > options.longest:
                        begun = line
        finally:
            process.kill()
            process.wait()
        line = last(options.results)
        if begun is not None:
            if line == begun:
                stop(options, begun, {"stopped": options.longest})
        elif process.returncode == 0:
            return
        elif line and line != earlier and "began" in line:
            stop(options, line, {"skipped": f"the process ended with {process.returncode}"})
        else:
            sys.exit(f"the measuring process ended with {process.returncode}")


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parsed(arguments)
    options.results = options.results.resolve()
    if options.coverage:
        from .coverage import uncalled

        print("\n".join(uncalled(options)))
        return
    if options.overheads:
        from .overheads import table

        print("\n".join(table()))
        return
    if options.worker:
        from .worker import run

        run(options, options.results)
        return
    options.results.parent.mkdir(parents=True, exist_ok=True)
    if options.fresh:
        options.results.unlink(missing_ok=True)
        arguments = [a for a in arguments if a != "--fresh"]
    if not options.report:
        command = [sys.executable, "-m", "bench.sweep", "--worker", *arguments, "--results", str(options.results)]
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and with it the measuring process
        supervise(options, command)
    from .report import report

    report(options)


if __name__ == "__main__":
    main()
