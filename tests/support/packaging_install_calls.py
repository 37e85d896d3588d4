"""What packaging/test_install.py and other tests share."""

import re

from native import need, run


def declared_functions(text: str) -> set[str]:
    """Functions that a header declares with RM_API."""
    return set(re.findall(r"^RM_API [^;(]*?\b(rm_\w+)\(", text, re.M))


def symbols(library, *flags):
    (nm,) = need("nm")
    lines = run(nm, "-D", "--format=posix", *flags, library).splitlines()
    return {line.split()[0].split("@")[0] for line in lines}
