"""Which JAX this package works with."""

# Its primitives use jax.extend.core and jax.interpreters, which change between minor versions. Tested with 0.10.
OLDEST = (0, 10)


def check() -> None:
    """Raise ImportError, saying what to install, unless JAX and ml_dtypes are there and new enough."""
    try:
        import jax
        import ml_dtypes  # noqa: F401
    except ImportError as error:
        raise ImportError(f"repmath.jax needs JAX and ml_dtypes ({error}): pip install 'repmath[jax]'") from error
    found = tuple(int(part) for part in jax.__version__.split(".")[:2])
    if found < OLDEST:
        raise ImportError(
            f"repmath.jax needs JAX {OLDEST[0]}.{OLDEST[1]} or newer, and JAX {jax.__version__} is installed: "
            "pip install --upgrade 'repmath[jax]'"
        )
