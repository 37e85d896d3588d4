"""Comparing the speed of two calls on a machine that others use too: short batches in turn, and the median of their ratios."""

import contextlib
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


def batch(call, n, clock=time.perf_counter):
    started = clock()
    for _ in range(n):
        call()
    return (clock() - started) / n


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


def budgeted(calls, seconds=0.03, rounds=5, once=2.0, pause=0.0, within=None, clock=time.perf_counter):
    """The median seconds per call of each of the named calls, and the ratio of the first to the second, with its quartiles.

    The calls take turns. A call whose first run takes longer than `once` is not run again, and rounds end when the calls have taken that long
    together. `within` has the contexts in which calls run, name -> what makes one: entering it does not count. Of calls on one thread
    `time.process_time` gives the time that other processes do not lengthen.
    """
    within = within or {}

    def timed(name, n):
        with within.get(name, contextlib.nullcontext)():
            if pause:
                time.sleep(pause)
                calls[name]()
            return batch(calls[name], n, clock)

    times = {name: [timed(name, 1)] for name in calls}
    if max(t[0] for t in times.values()) <= once:
        counts = {}
        for name in calls:
            n = 1
            while (took := timed(name, n) * n) < seconds / rounds / 4:
                n *= 4
            counts[name] = max(1, round(n * seconds / rounds / took))
        times = {name: [] for name in calls}
        spent = 0.0
        for turn in range(rounds):
            for name in list(calls) if turn % 2 == 0 else list(reversed(calls)):
                times[name].append(timed(name, counts[name]))
                spent += times[name][-1] * counts[name]
            if spent > once:
                break
    first, second, *_ = times.values()
    ratios = sorted(a / b for a, b in zip(first, second, strict=True))
    return {
        "seconds": {name: statistics.median(values) for name, values in times.items()},
        "ratio": statistics.median(ratios),
        "quartiles": [ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]],
        "rounds": len(ratios),
    }
