"""Which layers or operators make a result unstable: delta debugging over the places that round at random.

The method is ddmin (Zeller and Hildebrandt, 2002). A filter changes no word of what it leaves perturbed, so that one sample can be taken
apart: tools whose random numbers follow the sequence of roundings cannot repeat a sample with fewer of them."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._failures import Failed, naming, takes
from ._needs import need

GROUPS = ("layer", "operator", "call")


@dataclass
class Localized:
    """A smallest set of places that break the result: without any one of them it holds.

    `places` are layers with their phases, operators, or numbers of calls; `calls` are the perturbed calls of these places, `runs` counts
    the runs of the step. `finished` is False where it was interrupted: then the places suffice, and may be too many."""

    by: str
    places: list[str]
    calls: list[Any]
    candidates: int
    runs: int
    sample: int
    finished: bool = True


@dataclass
class _Search:
    step: Callable[[], Any]
    broken: Callable[[Any], Any]
    by: str
    options: dict[str, Any]
    progress: bool
    runs: int = 0
    made: Any = None  # by the last run
    known: dict[frozenset[str], bool] = field(default_factory=dict)

    def place(self, call: Any) -> str:
        if self.by == "call":
            return f"{call.number}: {call.operator}"
        if self.by == "operator" or not call.layer:
            return str(call.operator)
        return f"{call.layer} ({call.phase})"

    def run(self, chosen: Callable[[Any], bool]) -> bool:
        import repmath.torch

        self.runs += 1
        which = f"sample {self.options['sample']}" if "sample" in self.options else "every rounding to nearest"
        with repmath.torch.stochastic(where=chosen, **self.options), naming(f"step in run {self.runs}, of {which},"):
            self.made = self.step()
        with naming(f"broken after run {self.runs}, of {which},"):
            return bool(self.broken(self.made))

    def breaks(self, places: Sequence[str]) -> bool:
        key = frozenset(places)
        if key not in self.known:
            self.known[key] = self.run(lambda call: self.place(call) in key)
            if self.progress:
                verdict = "broken" if self.known[key] else "holds"
                print(f"run {self.runs}: {len(key)} perturbed, {verdict}", file=sys.stderr, flush=True)
        return self.known[key]

    def calls(self, chosen: Callable[[Any], bool]) -> tuple[bool, list[Any]]:
        """Whether the result is broken, and the calls, whether perturbed or not."""
        seen: list[Any] = []

        def where(call: Any) -> bool:
            seen.append(call)
            return chosen(call)

        return self.run(where), seen


def _smallest(search: _Search, places: list[str]) -> tuple[list[str], bool]:
    """ddmin: a set that breaks the result, and does not without any one of its members; False where it was interrupted."""
    parts = 2
    try:
        while len(places) > 1:
            ends = [round(i * len(places) / parts) for i in range(parts + 1)]
            pieces = [places[a:b] for a, b in zip(ends, ends[1:], strict=False)]
            smaller = next((p for p in pieces if search.breaks(p)), None)
            if smaller is not None:
                places, parts = smaller, 2
                continue
            rest = ([p for other in pieces if other is not piece for p in other] for piece in pieces)
            smaller = next((p for p in rest if search.breaks(p)), None) if parts > 2 else None
            if smaller is not None:
                places, parts = smaller, max(parts - 1, 2)
            elif parts == len(places):
                break
            else:
                parts = min(2 * parts, len(places))
    except KeyboardInterrupt:
        return places, False
    except Failed as error:
        shown = ", ".join(places[:8]) + (f" and {len(places) - 8} more" if len(places) > 8 else "")
        raise Failed(f"{error}; so far {len(places)} places are known to break the result: {shown}") from error.__cause__
    return places, True


def _digest(made: Any) -> str:
    """The digest of a result, where it is of arrays: else nothing is known of it."""
    import repmath.torch

    try:
        return repmath.torch.digest(made)
    except (TypeError, ValueError):
        return ""


def localize(
    step: Callable[[], Any],
    broken: Callable[[Any], Any],
    *,
    by: str = "layer",
    seed: int = 0,
    samples: int = 10,
    mode: str = "stochastic",
    phases: Any = ("forward", "backward", "step"),
    strict: bool = True,
    progress: bool = False,
) -> Localized:
    """The places of a PyTorch program whose random roundings break its result.

    The step runs with all roundings to nearest, which must not break the result, then with all at random, sample by sample, until one
    breaks it. Of that sample the smallest set of places is searched that breaks it alone.

    Parameters
    ----------
    step : callable
        Computes the same in every call, and returns what `broken` takes.
    broken : callable
        Whether a result is broken.
    by : {"layer", "operator", "call"}
        What a place is: a layer of a model in one phase (an operator, outside layers), every call of an operator, or one call.
    seed, mode, phases, strict
        Of `repmath.torch.stochastic`.
    samples : int
        How many are tried for one that breaks the result.
    progress : bool
        Print each run to standard error.

    Returns
    -------
    Localized

    Raises
    ------
    ValueError
        The result is broken without perturbation; no sample breaks it; the step varies by itself; an argument is out of its range.
    TypeError
        The step takes arguments, or `broken` does not take its result alone.
    RuntimeError
        One of them raised, whose error is the cause; the text names the places that are known by then.
    """
    need("torch", "localize")
    if by not in GROUPS:
        raise ValueError(f"by must be one of {', '.join(GROUPS)}, not {by!r}")
    if isinstance(samples, bool) or not hasattr(samples, "__index__") or samples < 1:
        raise ValueError(f"samples must be an integer of at least 1, not {samples!r}")
    takes("step", step, "no arguments")
    takes("broken", broken, "the result of step alone", None)
    options = {"seed": seed, "mode": mode, "phases": phases, "strict": strict}
    search = _Search(step, broken, by, options, progress)
    bad, calls = search.calls(lambda call: False)
    if bad:
        raise ValueError("the result is broken with every rounding to nearest: there is nothing to localize")
    first = _digest(search.made)
    again, repeated = search.calls(lambda call: False)
    if again or calls != repeated or first != _digest(search.made):
        raise ValueError("step is not deterministic: two calls without perturbation differ")
    for sample in range(samples):
        search.options = options | {"sample": sample}
        bad, calls = search.calls(lambda call: True)
        if bad:
            break
    else:
        raise ValueError(f"none of {samples} samples breaks the result")
    places = list(dict.fromkeys(search.place(c) for c in calls))
    search.known[frozenset(places)] = True
    found, finished = _smallest(search, places)
    chosen = set(found)
    return Localized(by, found, [c for c in calls if search.place(c) in chosen], len(places), search.runs, sample, finished)
