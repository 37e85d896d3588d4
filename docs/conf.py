"""How Sphinx makes the site of a copy of the pages beside this file, to which it adds those of the reference: `make docs`."""

import contextlib
import pathlib
import re
import runpy

import repmath

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent

project = "repmath"
copyright = author = "The repmath developers"
version = release = repmath.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {"navigation_depth": 2, "show_toc_level": 2, "secondary_sidebar_items": ["page-toc"]}
html_show_sourcelink = False
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["examples/*"]  # they are parts of the reference's pages
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "show-inheritance": False}

# The pages of the reference: what is on each beside the elementwise functions.
MODULES = {
    "repmath": "Sums, products, convolutions, scattering",
    "repmath.nn": "Operators of deep learning",
    "repmath.optim": "Optimisers",
    "repmath.random": "Random numbers",
    "repmath.init": "Initial weights",
    "repmath.fft": "Fourier transforms",
    "repmath.linalg": "Linear algebra",
    "repmath.special": "Special functions",
    "repmath.rounding": "Rounding modes",
    "repmath.certificate": "Certificates",
    "repmath.array_api": "Array API standard",
    "repmath.arrays": "Arrays of the array API standard",
    "repmath.torch": "PyTorch",
    "repmath.torch.functional": "Functions for PyTorch",
    "repmath.torch.optim": "Optimisers for PyTorch",
    "repmath.jax": "JAX",
}


def generate(app):
    """Write the pages of the reference, which are made of docstrings and of the functions' own pages."""
    folder = pathlib.Path(app.srcdir) / "reference"
    elementwise = folder / "elementwise"
    elementwise.mkdir(parents=True, exist_ok=True)
    evidence = rows((HERE / "evidence.md").read_text())
    for name in repmath._core.ufuncs:
        write(elementwise / f"{name}.md", function_page(name, evidence))
    toctree = "\n".join(repmath._core.ufuncs)
    write(
        elementwise / "index.md",
        f"# Elementwise functions\n\n[All with their definitions](../../functions.md).\n\n```{{toctree}}\n{toctree}\n```\n",
    )
    for module, title in MODULES.items():
        write(folder / f"{module}.md", module_page(module, title))
    names = "\n".join(["elementwise/index", *MODULES])
    write(folder / "index.md", f"# Reference\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n")
    gallery(pathlib.Path(app.srcdir) / "gallery")


def gallery(folder):
    """A page for each program of gallery/, with the picture that it writes here and now."""
    import matplotlib

    matplotlib.use("Agg")
    shown = []
    for program in sorted(folder.glob("*.py")):
        with contextlib.chdir(folder):
            found = runpy.run_path(program.name)
        matplotlib.pyplot.close("all")
        title, _, text = found["__doc__"].strip().partition("\n")
        source = program.read_text().split('"""', 2)[2].strip()
        picture = f"![{title}]({program.stem}.png)"
        body = f"{text.strip()}\n\n{picture}"
        write(program.with_suffix(".md"), f"# {title}\n\n{body}\n\n```python\n{source}\n```\n")
        shown.append(f"## [{title}]({program.stem}.md)\n\n{body}")
    names = "\n".join(sorted(program.stem for program in folder.glob("*.py")))
    head = "# Gallery\n\nEach picture is made by the program on its page when this site is built; `docs/gallery` has the programs."
    tree = f"```{{toctree}}\n:hidden:\n\n{names}\n```"
    write(folder / "index.md", "\n\n".join([head, *shown, tree]) + "\n")


def write(path, text):
    """Only what has changed, so that Sphinx makes no page again in vain."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def rows(page):
    """The lines of the evidence's table of functions, by function, and its header."""
    page = page.partition("\n## Functions\n")[2].partition("\n## ")[0]
    found = {m[1]: m[0] for m in re.finditer(r"^\| (\w+) \|.*$", page, re.M)}
    header = re.search(r"^\| function \|.*\n\|.*$", page, re.M)
    return header[0] if header else "", found


def function_page(name, evidence):
    docstring = re.sub(r"^.*\n", "", repmath._core.ufuncs[name].__doc__).strip()
    signature = repmath._core.ufuncs[name].__doc__.partition("\n")[0].partition("(")[2]
    parts = [
        f"# {name}",
        "```{eval-rst}",
        f".. py:function:: {name}({signature}",
        "",
        indent(docstring),
        "```",
        example(name),
    ]
    header, found = evidence
    if name in found:
        parts += ["## What was checked", f"{header}\n{found[name]}", "[What the columns say](../../evidence.md)."]
    page = ROOT / "crlibm" / name / f"{name}.md"
    if page.exists():
        body = re.sub(r"^(#+) ", r"#\1 ", page.read_text(), flags=re.M)
        parts += [re.sub(r"\]\((?!http)([^)]*)\)", "]", body).replace("[", "\\[")]
    return "\n\n".join(parts).replace("\n\n```\n", "\n```\n") + "\n"


def indent(text):
    """numpydoc reads docstrings of objects only; here the headings become bold lines of their own."""
    text = re.sub(r"^([A-Z]\w+)\n-+$", r"**\1**\n", text, flags=re.M)
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())


def example(name):
    import numpy as np

    x = [np.array(values, np.float32) for values in ([0.25, 0.5, 0.75], [1.5, 2, 3], [1, 2, 3])][
        : repmath._core.ufuncs[name].nin
    ]
    arguments = ", ".join(f"np.array({[float(v) for v in a]}, np.float32)" for a in x)
    with np.errstate(all="ignore"):
        return f"```python\n>>> repmath.{name}({arguments})\n{repmath._core.ufuncs[name](*x)!r}\n```"


def module_page(module, title):
    """Each public name once; elementwise functions and aliases have pages of their own."""
    import importlib
    import inspect

    loaded = importlib.import_module(module)
    lines = [f"# {title}", f"```{{eval-rst}}\n.. py:module:: {module}\n```"]
    if module != "repmath":
        lines.append(f"```{{eval-rst}}\n.. automodule:: {module}\n   :no-members:\n   :no-index:\n```")
    shown = examples(module)
    own = [n for n in vars(loaded) if not n.startswith("_") and getattr(vars(loaded)[n], "__module__", None) == module]
    for name in sorted(getattr(loaded, "__all__", own), key=str.lower):
        thing = getattr(loaded, name)
        if inspect.isclass(thing):
            members = "" if issubclass(thing, Exception) else "\n   :members:"
            lines.append(f"```{{eval-rst}}\n.. autoclass:: {module}.{name}{members}\n```")
        elif inspect.isroutine(thing) and name not in repmath._core.ufuncs:
            lines.append(f"```{{eval-rst}}\n.. autofunction:: {module}.{name}\n```")
        if name in shown:
            lines.append(shown[name])
    return "\n\n".join(lines) + "\n"


def examples(module):
    """The example of each function of a module that has none in its docstring: a wheel is too small for all of them."""
    page = HERE / "examples" / f"{module}.md"
    parts = re.split(r"^## (\w+)\n", page.read_text(), flags=re.M)[1:] if page.exists() else []
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2])}


def outside(app, docname, source):
    """Links out of this folder are names of files in the repository."""
    source[0] = re.sub(r"\[([^\]]*)\]\(\.\./(?!\.\.)[^)]*\)", r"\1", source[0]) if docname.count("/") == 0 else source[0]


def setup(app):
    app.connect("builder-inited", generate)
    app.connect("source-read", outside)
