"""The command: python -m conformance --library numpy --library glibc --out out/conformance"""

import argparse
import fnmatch
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import c_abi, cases, files, namespaces, report


def library(name: str, table: str | None) -> Any:
    """The library that the command names: glibc, a shared library, a folder of results, or what Python imports."""
    path = Path(name)
    if name == "glibc":
        return c_abi.glibc()
    if path.is_dir() and (path.suffix or "/" in name):
        return files.Results(path)
    if path.is_file():
        if table is None:
            raise OSError(f"{name} needs --table, which says what its symbols are")
        return c_abi.Library(path.name, path.resolve(), c_abi.table(table))
    if "/" in name:
        raise OSError(f"there is no {name}")
    return namespaces.of(name)


def run(libraries: list[Any], groups: Iterator[cases.Group], how: dict[str, Any]) -> list[dict[str, Any]]:
    """The reports of several libraries on the same cases, each of which is made once."""
    rows: list[list[dict[str, Any]]] = [[] for _ in libraries]
    missing: list[list[dict[str, str]]] = [[] for _ in libraries]
    for group in groups:
        for k, one in enumerate(libraries):
            try:
                rows[k] += [report.row(group, by, found) for by, found in one.run(group)]
            except namespaces.Missing as why:
                missing[k].append({"operation": group.operation, "format": group.format, "why": str(why)})
    return [report.report(one, rows[k], missing[k], how) for k, one in enumerate(libraries)]


def selection(operations: list[str], formats: list[str]) -> Callable[[str, str], bool]:
    def wanted(operation: str, fmt: str) -> bool:
        named = any(fnmatch.fnmatchcase(operation, p) for p in operations) if operations else True
        return named and (fmt in formats or fmt not in report.FORMATS if formats else True)

    return wanted


def stored(folder: Path, wanted: Callable[[str, str], bool]) -> Iterator[cases.Group]:
    """The cases of a folder, in the order of their names."""
    for path in sorted(folder.glob("*.txt")):
        operation, _, fmt = path.stem.partition(".")
        if wanted(operation, fmt):
            yield files.read(path)


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m conformance",
        description="Compare a library's results with the bits that docs/spec.md asks for. The exit status is 1 when a library differs.",
    )
    p.add_argument("--library", action="append", default=[], metavar="NAME",
                   help="numpy, scipy, torch, repmath, glibc, another module, a shared library (with --table), or a folder of results; repeatable")  # fmt: skip
    p.add_argument(
        "--table", help="what the symbols of a shared library are: libm, cblas, repmath, or a file (conformance/c_abi.py)"
    )
    p.add_argument(
        "--operation", action="append", default=[], metavar="PATTERN", help="only these, as exp or '*_backward'; repeatable"
    )
    p.add_argument("--format", action="append", default=[], choices=report.FORMATS, help="only this one; repeatable")
    p.add_argument("--count", type=int, default=2000, metavar="N",
                   help="random inputs, and hard cases, of each function; from 65536 on all inputs of the 16-bit formats (default: 2000)")  # fmt: skip
    p.add_argument("--seed", type=int, default=1, help="of the random inputs (default: 1)")
    p.add_argument("--out", type=Path, metavar="FOLDER", help="write LIBRARY.json and LIBRARY.html there")
    p.add_argument("--markdown", action="store_true", help="print one table of all libraries for a page")
    p.add_argument("--write", type=Path, metavar="FOLDER", help="write the cases as files")
    p.add_argument(
        "--cases", type=Path, metavar="FOLDER", help="take the cases from files that --write wrote: no oracle is needed"
    )
    return p


def main(arguments: list[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    if not args.library and not args.write:
        parser().error("name a --library, or a folder to --write")
    try:
        libraries = [library(name, args.table) for name in args.library]
        wanted = selection(args.operation, args.format)
        groups = stored(args.cases, wanted) if args.cases else cases.groups(wanted, args.count, args.seed)
        if args.write:
            groups = written(groups, args.write)
        how = {"cases": args.cases.name if args.cases else "made", "count": args.count, "seed": args.seed}
        reports = run(libraries, groups, how)
    except (OSError, ImportError, c_abi.TableError) as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    for found in reports:
        if not args.markdown:
            print(report.text(found))
        if args.out:
            print("\n".join(str(p) for p in report.write(found, args.out)))
    if args.markdown:
        print(report.markdown(reports), end="")
    return int(not all(report.conforms(found) for found in reports))


def written(groups: Iterator[cases.Group], folder: Path) -> Iterator[cases.Group]:
    for group in groups:
        files.write(group, folder)
        yield group


if __name__ == "__main__":
    sys.exit(main())
