"""What a case of the sweep is, and how cases are made of factors."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

DTYPES = ("f32", "bf16", "f64", "f16")


class Skip(Exception):
    """A case that does not exist, with the reason."""


@dataclass(frozen=True)
class Case:
    """A call of the library beside another library's.

    make() gives name -> call, "repmath" first, and makes no data before it is called; far counts the factors (shape, format, values)
    that differ from the first of each, so that far < 2 is the quick sweep.
    """

    group: str
    name: str
    dtype: str
    shape: str
    values: str
    direction: str
    make: Callable[[], "Calls"]
    far: int = 0

    @property
    def key(self):
        return " | ".join((self.group, self.name, self.dtype, self.shape, self.values, self.direction))


@dataclass
class Calls:
    """name -> call, and name -> the context in which it runs, which is entered outside the time taken."""

    calls: dict[str, Callable[[], Any]]
    within: dict[str, Callable[[], Any]]


def crossed(group, name, shapes, make, values, dtypes=DTYPES, directions=("forward",), large=()):
    """The cases of all combinations; at the large shapes of the first values alone."""
    for (i, shape), (j, dtype), (k, data), direction in itertools.product(
        enumerate(shapes), enumerate(dtypes), enumerate(values), directions
    ):
        if k and shape in large:
            continue
        yield Case(
            group, name, dtype, str(shape), data, direction,
            lambda shape=shape, dtype=dtype, data=data, direction=direction: make(shape, dtype, data, direction),
            (i > 0) + (j > 0) + (k > 0),
        )  # fmt: skip
