"""Studies of numerical variability: how many digits of a result hold, how far trainings drift apart, in which order a sum is taken, what
determinism costs. `repmath study` runs them from the command line; docs/studies.md shows what they find.

Moments are computed with repmath, so that tables of repmath's own runs are the same bytes on every machine."""

from ._arms import Run, arms, compare
from ._cost import cost
from ._digits import Digits, digits, samples_needed
from ._harmonic import harmonic
from ._localize import Localized, localize
from ._order import Tree, certificate, order
from ._report import Report
from ._variability import variability
from ._warden import warden

__all__ = [
    "Digits", "Localized", "Report", "Run", "Tree", "arms", "certificate", "compare", "cost", "digits", "harmonic", "localize", "order",
    "samples_needed", "variability", "warden",
]  # fmt: skip
