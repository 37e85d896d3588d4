"""What surrounds the functions: digests, configuration, the command line, stubs."""

import hashlib
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import tools_path

import repmath

ml_dtypes = pytest.importorskip("ml_dtypes")


def run(*arguments, **environment):
    """A fresh Python process with some environment variables changed (None removes)."""
    env = {k: v for k, v in {**os.environ, **environment}.items() if v is not None}
    return subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True)


# ---- digest ----


def test_digest_is_what_its_documentation_says():
    a = np.array([[1.5, -0.0, 2], [3, 4, 5]], "f4")
    assert repmath.digest(a) == hashlib.sha256(b"float32(2,3)\n" + a.astype("<f4").tobytes()).hexdigest()
    assert repmath.digest(np.float64(2)) == hashlib.sha256(b"float64()\n" + np.array(2, "<f8").tobytes()).hexdigest()
    both = hashlib.sha256(b"float32(2,3)\n" + a.tobytes() + b"int16(1)\n" + b"\x01\x00").hexdigest()
    assert repmath.digest(a, np.array([1], "i2")) == both
    assert repmath.digest() == hashlib.sha256().hexdigest()


def test_digest_sees_values_not_layout():
    a = np.arange(24, dtype="f8").reshape(2, 3, 4) / 7
    d = repmath.digest(a)
    assert repmath.digest(np.asfortranarray(a)) == d
    assert repmath.digest(a.astype(">f8")) == d
    assert repmath.digest(np.repeat(a, 2, 2)[:, :, ::2]) == d
    assert len({d, repmath.digest(a.reshape(6, 4)), repmath.digest(a.astype("f4")), repmath.digest(-a)}) == 4
    assert repmath.digest(np.zeros(1)) != repmath.digest(-np.zeros(1))
    assert repmath.digest(np.zeros((0, 3))) != repmath.digest(np.zeros((3, 0)))


@pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16, "f4", "f8"])
def test_digest_has_one_nan(dtype):
    x = np.array([1, np.nan], dtype)
    other = x.copy()
    other.view(f"u{x.itemsize}")[1] |= 1 | 1 << (8 * x.itemsize - 1)
    assert repmath.digest(x) == repmath.digest(other)
    assert other.view(f"u{x.itemsize}")[1] & 1  # the argument is as it was
    large = np.full((1 << 20) + 3, np.nan, dtype)
    assert repmath.digest(large) == repmath.digest(-large)


def test_digest_refuses_what_has_no_portable_bytes():
    for bad in (np.longdouble(1), np.array(["a"]), np.array([None])):
        with pytest.raises(TypeError, match=r"arrays\[1\]"):
            repmath.digest(1.0, bad)


# ---- configuration ----


def test_config():
    c = repmath.config()
    assert c["repmath"] == repmath.__version__
    assert re.search(
        rf'RM_VERSION "{re.escape(repmath.__version__)}"', pathlib.Path(tools_path.ROOT, "include/repmath/core.h").read_text()
    )
    assert c["isa"] in c["available isas"] and "base" in c["available isas"]
    assert c["functions"] == tools_path.manifest()


def test_show_config(capsys):
    repmath.show_config()
    assert repmath.__version__ in capsys.readouterr().out


def test_include_and_library():
    assert pathlib.Path(repmath.get_include(), "repmath", "repmath.h").is_file()
    from repmath._config import _library

    assert pathlib.Path(_library()).is_file()


def test_c_function():
    x, y = np.float64(0.7), np.float32(1.3)
    assert repmath.c_function("exp")(x) == repmath.exp(x)
    assert np.float32(repmath.c_function("atan2", "f32")(y, 2)) == repmath.atan2(y, np.float32(2))
    with pytest.raises(ValueError, match="name must be an elementwise function, not 'sine'"):
        repmath.c_function("sine")
    with pytest.raises(ValueError, match="format must be 'f32' or 'f64', not 'f16'"):
        repmath.c_function("exp", "f16")


def test_numba_calls_it():
    numba = pytest.importorskip("numba")
    exp, x = repmath.c_function("exp"), np.linspace(-1, 1, 101)
    assert np.array_equal(numba.vectorize(lambda v: exp(v))(x), repmath.exp(x))
    assert numba.njit(lambda v: exp(v[0]) + exp(v[1]))(x) == repmath.exp(x[0]) + repmath.exp(x[1])


def test_numba_knows_the_functions():
    """By the package's entry point, of one argument, two and three; float16 has no compiled function and is refused."""
    numba = pytest.importorskip("numba")
    x = np.linspace(0.25, 2, 8)
    exp = numba.njit(lambda v: repmath.exp(v))
    pairs, triples = numba.njit(lambda v, w: repmath.arctan2(v, w)), numba.njit(lambda u, v, w: repmath.fma(u, v, w))
    for dtype in (np.float32, np.float64):
        a = x.astype(dtype)
        for found, expected in ((exp(a), repmath.exp(a)), (pairs(a, a[::-1]), repmath.arctan2(a, a[::-1]))):
            assert found.dtype == dtype and np.array_equal(found, expected)
        assert np.array_equal(triples(a, a[:, None], a), repmath.fma(a, a[:, None], a))
        assert exp(a[3]) == repmath.exp(a[3])
    assert exp(3) == repmath.exp(3) and np.array_equal(exp(np.arange(3)), repmath.exp(np.arange(3)))
    with pytest.raises(numba.TypingError, match="No implementation"):
        exp(x.astype(np.float16))


def test_isa_by_environment():
    for isa in repmath.config()["available isas"]:
        done = run("-c", "import repmath; print(repmath.config()['isa'])", REPMATH_ISA=isa)
        assert done.stdout.strip() == isa


@pytest.mark.parametrize("bad", ["avx1024", "AVX2", "neon", "avx512"])
def test_bad_isa_is_an_import_error(bad):
    if bad in repmath.config()["available isas"]:
        pytest.skip("available here")
    done = run("-c", "import repmath", REPMATH_ISA=bad)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError:") and bad in last and "base" in last


def test_threads():
    before = repmath.get_num_threads()
    try:
        repmath.set_num_threads(3)
        assert repmath.get_num_threads() == 3
        repmath.set_num_threads(np.int64(1))
        assert repmath.get_num_threads() == 1
        for bad in (0, -1, 4097, 2**40):
            with pytest.raises(ValueError, match="n must be"):
                repmath.set_num_threads(bad)
        for bad in (1.0, "1", None, True):
            with pytest.raises(TypeError, match="n must be"):
                repmath.set_num_threads(bad)
        assert repmath.get_num_threads() == 1
    finally:
        repmath.set_num_threads(before)
    assert run("-c", "import repmath; print(repmath.get_num_threads())", REPMATH_NUM_THREADS="5").stdout.strip() == "5"


def test_import_needs_only_numpy():
    """Optional packages are not imported, and their absence is no error."""
    code = (
        "import sys\n"
        "for name in ('ml_dtypes', 'scipy', 'torch', 'sklearn', 'matplotlib', 'gmpy2', 'mpmath'): sys.modules[name] = None\n"
        "import repmath, numpy as np\n"
        "print(repmath.exp(np.float32(1)), repmath.sum([1, 2]), 'bf16' in repmath._dtypes.FORMATS)\n"
    )
    done = run("-c", code)
    assert done.stdout.strip() == "2.7182817 3.0 False", done.stderr


# ---- command line ----


def test_info():
    done = run("-m", "repmath", "info")
    assert done.returncode == 0 and "available isas:" in done.stdout


def test_version():
    assert run("-m", "repmath", "--version").stdout.strip() == f"repmath {repmath.__version__}"


def test_digest_command(tmp_path):
    a = np.arange(5.0)
    np.save(tmp_path / "a.npy", a)
    (tmp_path / "bad.npy").write_text("not an array")
    done = run("-m", "repmath", "digest", str(tmp_path / "a.npy"))
    assert done.returncode == 0 and done.stdout == f"{repmath.digest(a)}  {tmp_path / 'a.npy'}\n"
    done = run("-m", "repmath", "digest", str(tmp_path / "bad.npy"), str(tmp_path / "none.npy"), str(tmp_path / "a.npy"))
    assert done.returncode == 1 and repmath.digest(a) in done.stdout
    assert "bad.npy" in done.stderr and "none.npy" in done.stderr and "Traceback" not in done.stderr


def test_command_errors():
    for bad in ([], ["nothing"], ["verify", "--function", "sine"], ["verify", "--format", "f128"], ["digest"]):
        done = run("-m", "repmath", *bad)
        assert done.returncode == 2 and "usage:" in done.stderr


# ---- names ----


def test_aliases_are_the_same_objects():
    """NumPy's and SciPy's names, which those packages have."""
    special = pytest.importorskip("scipy.special")
    for alias, name in repmath._aliases.NAMES.items():
        assert getattr(repmath, alias) is getattr(repmath, name), alias
        theirs = getattr(np, alias, None) or getattr(special, alias)
        assert theirs.nin == getattr(repmath, alias).nin


# ---- generated files ----


def test_stubs_are_fresh():
    for path, text in tools_path.load("gen_stubs").stubs().items():
        assert path.read_text() == text, f"run tools/gen_stubs.py: {path.name}"


def test_stub_names_what_the_module_has():
    text = pathlib.Path(tools_path.ROOT, "python/repmath/__init__.pyi").read_text()
    patterns = r"^from \.\w* import \w+ as (\w+)", r"^(\w+): Final\[_Function\]", r"^def (\w+)\("
    names = {name for pattern in patterns for name in re.findall(pattern, text, re.M)}
    assert set(repmath.__all__) <= names
    assert all(hasattr(repmath, name) for name in names)
    assert set(repmath.__all__) | {"_core"} == names
