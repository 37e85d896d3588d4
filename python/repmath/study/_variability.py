"""How many digits of a computation's results hold under perturbed roundings."""

import os
import pathlib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from ._digits import PRECISION, Digits, check_samples, digits
from ._failures import naming, takes
from ._progress import progress as progress_of

Block = Callable[[int], AbstractContextManager[Any]]
_Sample = dict[str, tuple[np.ndarray, int]]  # elements in binary64, and the bits of their format's significand


def _held(found: Any, most: int) -> _Sample:
    if not isinstance(found, dict) or not found:
        raise TypeError("step must return a dict of arrays, by names")
    sample = {}
    for name, value in found.items():
        kind = str(getattr(value, "dtype", "float64")).removeprefix("torch.")
        if hasattr(value, "detach"):
            value = value.detach().cpu().double().numpy()  # NumPy has no bfloat16
        try:
            array = np.array(value, np.float64).reshape(-1)
        except (TypeError, ValueError):
            raise TypeError(f"step must return arrays of numbers, and {str(name)!r} is {type(value).__name__}") from None
        sample[str(name)] = array[:: max(1, -(-array.size // most))], PRECISION.get(kind, 53)
    return sample


@contextmanager
def _watched(model: Any) -> Iterator[dict[str, Any]]:
    """What the layers of a model return, and the gradients of that, by name; the model is afterwards what it was, without gradients."""
    seen: dict[str, Any] = {}
    if model is None:
        yield seen
        return
    before = {name: value.detach().clone() for name, value in model.state_dict().items()}

    def watch(name: str) -> Callable[..., None]:
        def hook(module: Any, inputs: Any, made: Any) -> None:
            if not hasattr(made, "detach"):
                return  # a tuple: its layers are watched
            seen[f"layer {name}"] = made.detach().clone()  # what follows may change it in place
            if made.requires_grad:
                made.register_hook(lambda g: seen.__setitem__(f"gradient at {name}", g.detach().clone()))

        return hook

    handles = [m.register_forward_hook(watch(name)) for name, m in model.named_modules() if name]
    try:
        yield seen
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                seen[f"gradient of {name}"] = parameter.grad
            seen[f"parameter {name}"] = parameter.detach().clone()
    finally:
        for handle in handles:
            handle.remove()
        model.zero_grad(set_to_none=True)
        model.load_state_dict(before)


def _load(file: pathlib.Path) -> _Sample:
    try:
        with np.load(file) as data:
            names = [str(n) for n in data["names"]]
            return {name: (data[f"v{i}"], int(data["bits"][i])) for i, name in enumerate(names)}
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file} is no sample of a study, and has to be removed: {error}") from error


def _save(file: pathlib.Path, sample: _Sample) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f"{file.stem}.part.npz")
    values = {f"v{i}": v for i, (v, _) in enumerate(sample.values())}
    np.savez(unfinished, names=np.array(list(sample)), bits=np.array([b for _, b in sample.values()]), **values)  # type: ignore[arg-type]
    unfinished.replace(file)  # a file that is there is whole


def _alike(first: _Sample, other: _Sample, i: int) -> None:
    """Raises where a sample has other results than the first."""
    for name in {**first, **other}:
        if name not in first or name not in other:
            raise ValueError(
                f"step returns {name!r} in sample {i if name in other else 0}, and not in sample {0 if name in other else i}"
            )
        if first[name][0].shape != other[name][0].shape:
            raise ValueError(f"step returns {name!r} with another number of elements in sample {i} than in sample 0")


def variability(
    step: Callable[[], dict[str, Any]],
    samples: int = 10,
    *,
    block: Block,
    model: Any = None,
    reference: bool = True,
    most: int = 4096,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = False,
    **options: Any,
) -> dict[str, Digits]:
    """Digits of each result of a step, over samples that are perturbed differently.

    Parameters
    ----------
    step : callable
        Returns a dict of arrays or tensors, and computes the same in every call.
    samples : int
        At least 2.
    block : callable
        Of the number of a sample; returns the block in which the step runs: `lambda i: repmath.torch.stochastic(seed=0, sample=i)`.
    model : torch.nn.Module, optional
        What its layers return ("layer NAME"), the gradients at these, those of its parameters and the parameters after the step are results as well. Its state is
        afterwards what it was before the step.
    reference : bool
        Check first that the step gives the same results twice in block(0).
    most : int
        Elements of each array that are kept, at a fixed stride.
    keep : path, optional
        A folder for samples. Those that it has are not computed again, so that an interrupted study goes on where it stopped: a folder belongs to one
        step, block and `most`.
    progress : bool
        Show on standard error which sample is done.
    **options
        Of `digits`, but `precision`, which is that of each result's format.

    Returns
    -------
    dict of Digits

    Raises
    ------
    ValueError
        There are too few samples, or the step varies by itself.
    TypeError
        The step takes arguments, or returns no dict of arrays of numbers.
    RuntimeError
        The step raised, whose error is the cause; samples that are done stay in the folder.
    """
    takes("step", step, "no arguments")
    takes("block", block, "the number of a sample", 0)
    if isinstance(samples, bool) or not hasattr(samples, "__index__") or samples < 2:
        raise ValueError(f"samples must be an integer of at least 2, not {samples!r}")
    check_samples(samples, **{k: v for k, v in options.items() if k in ("method", "probability", "confidence")})
    folder = None if keep is None else pathlib.Path(keep)

    def there() -> str:
        done = [] if folder is None else [j for j in range(samples) if (folder / f"sample-{j}.npz").exists()]
        return f"; {len(done)} of {samples} samples are kept in {folder}" if done else ""

    def fresh(i: int) -> _Sample:
        with _watched(model) as seen:
            with block(i), naming(f"step in sample {i}", there):
                found = step()
            made = _held(found, most)
        return made | (_held(seen, most) if seen else {})

    def sample(i: int) -> _Sample:
        file = None if folder is None else folder / f"sample-{i}.npz"
        if file is not None and file.exists():
            return _load(file)
        made = fresh(i)
        if file is not None:
            _save(file, made)
        return made

    say = progress_of(samples, progress)
    known = folder is not None and (folder / "sample-0.npz").exists()
    first = sample(0)
    if reference and not known:
        again = fresh(0)
        for name, (value, _) in first.items():
            if name not in again or value.tobytes() != again[name][0].tobytes():
                if folder is not None:
                    (folder / "sample-0.npz").unlink()
                raise ValueError(f"step is not deterministic: {name!r} differs between two calls of one sample")
    runs = [first]
    say("sample 0")
    for i in range(1, samples):
        runs.append(sample(i))
        _alike(first, runs[-1], i)
        say(f"sample {i}")
    return {name: digits(np.stack([r[name][0] for r in runs]), precision=first[name][1], **options) for name in first}
