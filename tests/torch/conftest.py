"""What tests of operators under reproducible() share."""

import pytest


@pytest.fixture
def general(monkeypatch):
    """The calls that no prepared call has taken."""
    from repmath import _core
    from repmath.torch import _mode

    taken, own = [], _mode._Dispatch.general
    monkeypatch.setattr(_mode._Dispatch, "general", lambda *args: taken.append(args[1]) or own(*args))
    functions = _core.prepare_functions({})
    yield taken
    _core.prepare_functions(functions)
