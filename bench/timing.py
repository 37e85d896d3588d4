"""Comparing the speed of two calls on a machine that others use too: short batches in turn, and the median of their ratios."""

import statistics
import time


def repetitions(call, seconds):
    """How many calls take about this long."""
    call()
    n = 1
    while True:
        started = time.perf_counter()
        for _ in range(n):
            call()
        took = time.perf_counter() - started
        if took > seconds / 4 or n > 1 << 22:
            return max(1, round(n * seconds / max(took, 1e-9)))
        n *= 4


def batch(call, n):
    started = time.perf_counter()
    for _ in range(n):
        call()
    return (time.perf_counter() - started) / n


def compare(calls, batches=15, seconds=0.02, pause=0.0):
    """Seconds per call, the least seen, of each of the named calls; and the median ratio of the first to each other.

    The calls take turns, so that a change of clock or load hits all of them; a ratio is taken within one turn. With a pause a batch begins
    that many seconds after the last one, with a call that does not count: by then the idle threads of the library before sleep, and one's own
    are awake.
    """
    counts = {name: repetitions(call, seconds) for name, call in calls.items()}
    times = {name: [] for name in calls}
    for turn in range(batches):
        names = list(calls) if turn % 2 == 0 else list(reversed(calls))
        for name in names:
            if pause:
                time.sleep(pause)
                calls[name]()
            times[name].append(batch(calls[name], counts[name]))
    first = next(iter(calls))
    return {
        "seconds": {name: min(values) for name, values in times.items()},
        "ratio": {
            name: statistics.median(a / b for a, b in zip(times[first], values, strict=True))
            for name, values in times.items()
            if name != first
        },
    }
