"""How far long work is: a bar of tqdm where it is installed and someone looks, else a line for each step."""

import sys
from collections.abc import Callable


def progress(total: int, show: bool) -> Callable[[str], None]:
    """A function that is called after each of `total` steps, with what it found."""
    if not show:
        return lambda text: None
    if sys.stderr.isatty():
        try:
            from tqdm import tqdm
        except ImportError:
            pass
        else:
            bar = tqdm(total=total, file=sys.stderr)

            def step(text: str) -> None:
                bar.set_postfix_str(text)
                bar.update()
                if bar.n >= total:
                    bar.close()

            return step
    made = 0

    def line(text: str) -> None:
        nonlocal made
        made += 1
        print(f"{made}/{total}: {text}", file=sys.stderr, flush=True)

    return line
