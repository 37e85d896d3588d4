"""The command line: repmath info | verify | demo | digest | run | certify | study."""

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import Any


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


def _of_torch(path: Any) -> Any:
    from ._files import UnreadableFileError

    try:
        from .torch._certificate import arrays
    except ImportError as error:
        raise UnreadableFileError(str(error)) from None
    return arrays(path)


def _digest(args: argparse.Namespace) -> int:
    from . import _files
    from ._digest import digest

    status = 0
    for path in args.files:
        try:
            arrays = _files.arrays(path, _of_torch)
            lines = [f"{digest(*arrays.values())}  {path}"]
            if args.entries:
                lines += [f"{digest(a)}  {path}: {name}" for name, a in arrays.items() if name]
            print("\n".join(lines))
        except OSError as error:
            print(f"repmath digest: {path}: {error.strerror or error}", file=sys.stderr)
            status = 1
        except Exception as error:  # whatever a damaged file makes of the library that reads it
            first = (str(error) or type(error).__name__).splitlines()[0]
            print(f"repmath digest: {path}: {first}", file=sys.stderr)
            status = 1
    return status


def _run(args: argparse.Namespace) -> int:
    from . import _running

    try:
        from .torch import disable, enable
    except ImportError as error:
        print(f"repmath run: {error}", file=sys.stderr)
        return 2
    block = enable(strict=not args.loose)
    try:
        if args.module:
            _running.module(args.script, args.arguments)
        else:
            _running.script(args.script, args.arguments)
    except _running.NoScriptError as error:
        print(f"repmath run: {error}", file=sys.stderr)
        return 2
    finally:
        disable()
        for name, times in sorted(block.uncovered.items()):
            print(f"repmath run: PyTorch's own ran {times} times: {name}", file=sys.stderr)
    return 0


def _script_of(expected: Any, path: str) -> str:
    """The script that a certificate names, beside it or here."""
    name = os.path.basename(str(expected.get("script")))
    for folder in (os.path.dirname(path), ""):
        if os.path.isfile(os.path.join(folder, name)):
            return os.path.join(folder, name)
    raise FileNotFoundError(f"there is no {name} beside {path} or here; name the script")


def _certify(args: argparse.Namespace) -> int:
    import json

    from . import _running, certificate

    def failed(error: Exception) -> int:
        print(f"repmath certify: {error}", file=sys.stderr)
        return 2

    script, arguments = args.script, args.arguments or []
    try:
        if importlib.util.find_spec("torch") is not None:
            importlib.import_module("repmath.torch")  # its calls are then recorded
        expected = certificate.load(args.check) if args.check else None
        if script is None and expected is not None:
            script, arguments = _script_of(expected, args.check), expected["arguments"]
        output = args.output or os.path.splitext(script)[0] + ".certificate.json"
        if expected is None:
            open(output, "a").close()  # a folder that cannot be written is known before the script runs
    except (ImportError, OSError, certificate.CertificateError) as error:
        return failed(error)
    try:
        made = certificate.certify(script, arguments, strict=not args.loose, calls=args.calls, against=expected)
        if expected is not None:
            difference = certificate.compare(expected, made)
            print(f"repmath certify: {difference or 'same'}")
            return int(difference is not None)
    except (_running.NoScriptError, certificate.CertificateError) as error:
        return failed(error)
    with open(output, "w", encoding="utf-8") as file:
        json.dump(made, file, indent=1)
        file.write("\n")
    counts = f"{made['calls']['count']} calls, {len(made['recorded'])} recorded and {len(made['named'])} named numbers"
    print(f"repmath certify: {output}: {counts}")
    return 0


def _range(text: str) -> range:
    first, colon, last = text.partition(":")
    try:
        return range(int(first), int(last if colon else first) + 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no FIRST:LAST") from None


class _Check(argparse.Action):
    """--check FILE, after which no script need be named."""

    needless: tuple[argparse.Action, ...] = ()

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, values)
        for action in self.needless:
            action.required = False


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

    digest = commands.add_parser(
        "digest",
        help="SHA-256 of the numbers in files: .npy, .npz, .safetensors, PyTorch",
        description="One SHA-256 a file. Of several arrays, they are taken in the order of their names, so that one model "
        "has one digest in each of these formats.",
    )
    digest.add_argument("--entries", action="store_true", help="also one for each array of a file")
    digest.add_argument("files", nargs="+", metavar="FILE")
    digest.set_defaults(run=_digest)

    run = commands.add_parser(
        "run",
        help="run a script of PyTorch under repmath.torch.enable()",
        description="Each operator of PyTorch that rounds is correctly rounded; one that is not covered raises.",
    )
    run.add_argument(
        "--loose", action="store_true", help="let PyTorch's own run where an operator is not covered, and report it"
    )
    run.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module, as for python -m")
    run.add_argument("script", metavar="SCRIPT")
    run.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    run.set_defaults(run=_run)

    certify = commands.add_parser(
        "certify",
        help="run a script and write what it computed, or check what another machine wrote",
        description="The certificate has digests of the calls of PyTorch's operators, of what the script records with "
        "repmath.certificate.record, and of the numbers that it has named at its end. With --check the exit status is 1 when "
        "something differs, and the first difference is named.",
    )
    certify.add_argument("--output", metavar="FILE", help="where the certificate goes (default: SCRIPT.certificate.json)")
    certify.add_argument("--check", metavar="FILE", action=_Check, help="compare with this certificate, and write none")
    certify.add_argument("--loose", action="store_true", help="let PyTorch's own run where an operator is not covered")
    certify.add_argument(
        "--calls", type=_range, default=range(0), metavar="FIRST:LAST", help="keep the digests of all these calls"
    )
    _Check.needless = (
        certify.add_argument(
            "script", metavar="SCRIPT", help="with --check it may be left out: that of the certificate is run"
        ),
        certify.add_argument("arguments", nargs=argparse.REMAINDER, metavar="..."),
    )
    certify.set_defaults(run=_certify)

    from .study._cli import add as add_study

    add_study(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 130 when it was interrupted, as shells have it."""
    args = parser().parse_args(arguments)
    try:
        status = int(args.run(args))
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
