"""The command line: repmath info | verify | demo | digest."""

import argparse
import sys
from collections.abc import Sequence


def _info(args: argparse.Namespace) -> int:
    from ._config import show_config

    show_config()
    return 0


def _verify(args: argparse.Namespace) -> int:
    from .verify import main as verify

    return verify(args.function, args.format, exhaustive=args.all)


def _demo(args: argparse.Namespace) -> int:
    from .demo.runs import main as demo

    return int(demo(args.output))


def _digest(args: argparse.Namespace) -> int:
    import numpy as np

    from ._digest import digest

    status = 0
    for path in args.files:
        try:
            print(f"{digest(np.load(path))}  {path}")
        except EOFError:
            print(f"repmath digest: {path}: the file is empty", file=sys.stderr)
            status = 1
        except Exception as error:  # whatever a damaged file makes of NumPy's reader
            print(f"repmath digest: {path}: {error or type(error).__name__}", file=sys.stderr)
            status = 1
    return status


def parser() -> argparse.ArgumentParser:
    from . import __version__, _core

    top = argparse.ArgumentParser(prog="repmath", description="Correctly rounded math and exact reductions.")
    top.add_argument("--version", action="version", version=f"repmath {__version__}")
    commands = top.add_subparsers(required=True, metavar="command")

    info = commands.add_parser("info", help="versions, instruction sets, threads")
    info.set_defaults(run=_info)

    verify = commands.add_parser(
        "verify",
        help="compute results again and compare them with the published digests",
        description="Without --all: the 16-bit formats in full and the fixed sets. With it also all 2**32 float32 inputs "
        "of each function. Exit status 1 when something differs.",
    )
    verify.add_argument("--function", action="append", choices=list(_core.ufuncs), help="only this one (repeatable)")
    verify.add_argument("--format", action="append", choices=["f16", "bf16", "f32", "f64"], help="only this one (repeatable)")
    verify.add_argument("--all", action="store_true", help="also every float32 input (some 20 seconds a function)")
    verify.set_defaults(run=_verify)

    demo = commands.add_parser("demo", help="train a network on several instruction sets and compare the bits")
    demo.add_argument("--output", default="out", metavar="FOLDER", help="where the picture goes (default: out)")
    demo.set_defaults(run=_demo)

    digest = commands.add_parser("digest", help="SHA-256 of the values of arrays in .npy files")
    digest.add_argument("files", nargs="+", metavar="FILE.npy")
    digest.set_defaults(run=_digest)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 130 when it was interrupted, as shells have it."""
    args = parser().parse_args(arguments)
    try:
        return int(args.run(args))
    except KeyboardInterrupt:
        return 130
