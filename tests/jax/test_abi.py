"""src/xla/ffi_abi.h declares what jaxlib's own header does: sizes, places of members, numbers; and the library exports its handlers."""

import pathlib
import re

import native
import pytest
from jax_checks import jax

import repmath
from repmath.jax import _library

OURS = native.ROOT / "src/xla/ffi_abi.h"
MEMBERS = re.compile(r"typedef struct (XLA_FFI_\w+) \{(.*?)\n\} \1;", re.S)


def structures(text: str) -> dict[str, list[str]]:
    """The structures of a header, and the names of their members."""
    plain = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    found = {}
    for name, body in MEMBERS.findall(plain):
        functions = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"\1", body)
        found[name] = [part.strip(" *") for line in functions.split(";") if line.strip() for part in last_names(line)]
    return found


def last_names(declaration: str) -> list[str]:
    first, *others = declaration.split(",")
    return [first.split()[-1].strip("*"), *(o.strip(" *\n") for o in others)]


def layout(header: str, flags: list[str], folder: pathlib.Path, names: dict[str, list[str]], numbers: list[str]) -> list[str]:
    """What a C program prints of a header: the size of each structure, the place and size of each member, each number."""
    lines = [f'printf("{s} %zu\\n", sizeof({s}));' for s in names if s != "XLA_FFI_Api"]  # the table grows at its end
    for s, members in names.items():
        lines += [f'printf("{s}.{m} %zu %zu\\n", offsetof({s}, {m}), sizeof((({s} *)0)->{m}));' for m in members]
    lines += [f'printf("{n} %d\\n", (int){n});' for n in numbers]
    source, program = folder / "layout.c", folder / "layout"
    source.write_text(f"#include <stdio.h>\n#include {header}\nint main(void) {{\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
    (cc,) = native.need("cc")
    native.run(cc, "-w", *flags, source, "-o", program)
    return native.run(program).splitlines()


@pytest.fixture(scope="module")
def theirs() -> list[str]:
    header = pathlib.Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h"
    if not header.exists():
        pytest.skip(f"jaxlib brings no {header.name}")
    return ['"xla/ffi/api/c_api.h"', [f"-I{jax.ffi.include_dir()}"]]


# Members that only later versions of XLA_FFI_Metadata have lie behind those that are used.
GROWING = {"XLA_FFI_Metadata"}


def described(header, flags, folder):
    text = OURS.read_text()
    numbers = re.findall(r"\b(XLA_FFI_\w+) = \d+", text)
    lines = layout(header, flags, folder, structures(text), numbers)
    return [line for line in lines if line.split()[0] not in GROWING]


def test_layout_is_that_of_jaxlib(theirs, tmp_path):
    ours = described('"ffi_abi.h"', [f"-I{OURS.parent}"], tmp_path)
    assert len(ours) >= 90
    assert ours == described(*theirs, tmp_path)


def test_a_member_too_many_would_be_seen(theirs, tmp_path):
    """The control."""
    (tmp_path / "ffi_abi.h").write_text(OURS.read_text().replace("  int64_t rank;", "  int64_t rank, more;"))
    assert described('"ffi_abi.h"', [f"-I{tmp_path}"], tmp_path) != described(*theirs, tmp_path)


def test_version_is_no_newer_than_jaxlib(theirs):
    text = (pathlib.Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h").read_text()
    major, minor = (int(re.search(rf"XLA_FFI_API_{part} (\d+)", text)[1]) for part in ("MAJOR", "MINOR"))
    declared = re.search(r"RM_XLA_API_MAJOR = (\d+), RM_XLA_API_MINOR = (\d+)", OURS.read_text())
    assert int(declared[1]) == major and int(declared[2]) <= minor


def test_every_handler_is_registered():
    sources = "".join(p.read_text() for p in OURS.parent.glob("*.c"))
    assert sorted(re.findall(r"^RM_XLA_HANDLER\(rm_xla_(\w+),", sources, re.M)) == sorted(_library.TARGETS)


def test_errors_name_the_argument():
    import repmath.jax as rj

    with pytest.raises(Exception, match="argument 'index': an index is out of range"):
        jax.block_until_ready(rj.embedding([7], repmath.random.normal(1, (7, 2), dtype="f4")))
