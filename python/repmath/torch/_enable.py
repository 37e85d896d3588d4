"""The switch for a whole program: enable() and disable()."""

import functools
import threading
from typing import Any

from ._mode import reproducible

_lock = threading.Lock()
_block: reproducible | None = None
_start = threading.Thread.start


def enable(strict: bool = True) -> reproducible:
    """Enter `reproducible()` for the rest of the program.

    Parameters
    ----------
    strict : bool, optional
        As for `reproducible`.

    Returns
    -------
    reproducible
        The block of the calling thread; its `uncovered` counts for this thread.

    Raises
    ------
    RuntimeError
        It is enabled already.

    Notes
    -----
    It counts for the thread that calls, and for the threads that are started by `threading`
    afterwards. Processes that are forked later are inside; of those that are spawned, the
    workers of `torch.utils.data.DataLoader`.
    `repmath run SCRIPT` calls it before the script begins. `disable` ends it.
    """
    global _block
    with _lock:
        if _block is not None:
            raise RuntimeError("reproducible operators are enabled already: call repmath.torch.disable() first")
        block = reproducible(strict)
        block.__enter__()
        _block = block
        threading.Thread.start = _inside(strict)  # type: ignore[method-assign]
        return block


def disable() -> None:
    """Leave what `enable` entered, in the thread that called it; threads that run stay inside until they end.

    Raises
    ------
    RuntimeError
        It is not enabled.
    """
    global _block
    with _lock:
        if _block is None:
            raise RuntimeError("reproducible operators are not enabled: call repmath.torch.enable() first")
        threading.Thread.start = _start  # type: ignore[method-assign]
        block, _block = _block, None
        block.__exit__(None, None, None)


def _inside(strict: bool) -> Any:
    """How threads are started: what they run is in a block."""

    @functools.wraps(_start)
    def start(self: threading.Thread) -> None:
        run = self.run

        def run_inside() -> None:
            with reproducible(strict):
                run()

        self.run = run_inside  # type: ignore[method-assign]
        _start(self)

    return start
