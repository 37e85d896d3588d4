"""What the pages say in examples is what Python prints, and the site is built without a warning."""

import doctest
import importlib
import importlib.util
import inspect
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import tools_path

DOCS = pathlib.Path(tools_path.ROOT, "docs")
PACKAGE = pathlib.Path(tools_path.ROOT, "python/repmath")
PAGES = sorted(p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md") if ">>> " in p.read_text())


def failures(text, name):
    """How many examples of a page fail, and how many there are. A fence ends an example as an empty line does."""
    test = doctest.DocTestParser().get_doctest(re.sub(r"^```.*$", "", text, flags=re.M), {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    return runner.run(test)


@pytest.mark.parametrize("page", PAGES)
def test_examples(page):
    for needed in ("mpmath", "torch", "jax", "ml_dtypes"):
        pytest.importorskip(needed)
    found = failures((DOCS / page).read_text(), page)
    assert found.failed == 0 and found.attempted > 0


DOCSTRINGS = sorted(p for p in PACKAGE.glob("*.py") if ">>> " in p.read_text())


@pytest.mark.parametrize("source", DOCSTRINGS, ids=lambda p: p.stem)
def test_docstrings(source):
    module = importlib.import_module(f"repmath.{source.stem}")
    found = doctest.testmod(module)
    assert found.failed == 0 and found.attempted == source.read_text().count(">>> ")


def test_every_function_has_an_example():
    """In its docstring, or in docs/examples, from where the reference has it. Elementwise functions' are made with their pages."""
    specification = importlib.util.spec_from_file_location("conf", DOCS / "conf.py")
    conf = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(conf)
    for module in conf.MODULES:
        if module == "repmath.certificate":
            continue  # its page has programs
        loaded = importlib.import_module(module)
        own = [n for n, thing in vars(loaded).items() if n[0] != "_" and getattr(thing, "__module__", None) == module]
        things = {name: getattr(loaded, name) for name in getattr(loaded, "__all__", own)}
        public = {n for n, thing in things.items() if (inspect.isclass(thing) or inspect.isroutine(thing))}
        documented = {n for n in public if ">>> " in (things[n].__doc__ or "") or n in conf.repmath._core.ufuncs}
        shown = set(conf.examples(module))
        assert public - documented - shown == set() and shown <= public, module


def test_a_wrong_example_is_found(capsys):
    assert failures("```python\n>>> 1 + 1\n3\n```\n", "page").failed == 1


def test_badges_are_fresh(tmp_path):
    """The counts in README.md are those of the files; a count that is not is found: the control."""
    for name in ("tools/gen_badges.py", "docs/evidence.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(tools_path.ROOT / name, tmp_path / name)
    shutil.copytree(tools_path.ROOT / "proofs/certificates", tmp_path / "proofs/certificates")
    picture, check = tmp_path / "docs/badges.svg", [sys.executable, tmp_path / "tools/gen_badges.py", "--check"]
    shutil.copy(DOCS / "badges.svg", picture)
    assert subprocess.run(check).returncode == 0, "run python tools/gen_badges.py"
    picture.write_text(re.sub(r">(\d+) of ", lambda m: f">{int(m[1]) - 1} of ", picture.read_text()))
    assert subprocess.run(check, stderr=subprocess.PIPE).returncode == 1


def test_the_site(tmp_path):
    """Every page is in a table of contents, every link and docstring is understood, and the programs of the gallery run and draw: a warning
    is an error."""
    for needed in ("sphinx", "myst_parser", "numpydoc", "pydata_sphinx_theme", "matplotlib"):
        pytest.importorskip(needed)
    shutil.copytree(DOCS, tmp_path / "source")
    options = ["-q", "-W", "--keep-going", "-b", "html", "-c", DOCS, "-d", tmp_path / "trees"]
    command = [sys.executable, "-m", "sphinx", *options, tmp_path / "source", tmp_path / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html/reference/elementwise/exp.html").is_file()
    for program in (DOCS / "gallery").glob("*.py"):
        assert (tmp_path / "html/_images" / program.with_suffix(".png").name).stat().st_size > 5000
