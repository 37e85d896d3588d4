"""The library of one number of lanes, over vocabulary.h and with its rounding tests watched (watch.h).

The sources are copied, and each call of a function that watch.h has a WATCH_ macro for goes through it. Elementwise functions are not part
of it.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import shlex
import subprocess
from collections.abc import Iterator

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
BUILDS = {1: "SCALAR", 2: "NEON", 4: "AVX2", 8: "AVX512"}
ISAS = {1: "base", 2: "neon", 4: "avx2", 8: "avx512"}
WATCHED = re.findall(r"^#define WATCH_(\w+)\(", (HERE / "watch.h").read_text(), re.MULTILINE)
VECTORS = [
    "src/reduce/kernels.c",
    "src/blas/gemm/kernels.c",
    "src/nn/rows/kernels.c",
    "src/nn/rows/wide.c",
    "src/nn/loss/kernels.c",
    "src/nn/pool/kernels.c",
]
VECTORS += ["src/random/kernels.c", "src/reduce/axes_kernels.c", "src/blas/conv/kernels.c", "src/nn/sample/kernels.c"]
VECTORS += ["src/linalg/columns.c", "src/linalg/kernels.c", "src/fft/kernels.c", "src/reduce/products_kernels.c"]
ONLY = {  # elsewhere these are called by other tests
    "rm_row_doubt": ("src/nn/rows/loops.h",),
    "rm_row_is_clear": ("src/nn/rows/loops.h",),
    "rm_round_dd": ("src/nn/cross_entropy/row.h", "src/rounding/sums.c"),
    "vf64_undecided_f64": ("src/random/", "src/nn/loss/step.h", "src/fft/kernels.c"),
    "vf64_undecided_within": ("src/random/", "src/fft/kernels.c"),
    "vf64_undecided_any": ("src/random/",),
    "vf64_store_differing_f32": ("src/blas/gemm/epilogue_b64.h",),
    "vf64_store_between_f32": ("src/blas/gemm/vectors_b64.h",),
    "rm_round_vector_16": ("src/blas/gemm/vectors_b64.h",),
    "rm_round_double": ("src/blas/gemm/vectors_b64.h",),
    "rm_pair_to_odd": ("src/blas/gemm/resolve_b64.h", "src/blas/conv/"),
    "average_vectors": ("src/nn/pool/api.c",),
    "rm_pool_decide": ("src/nn/pool/api.c",),
    "rm_pool_decide_mixed": ("src/nn/pool/api.c",),
    "rm_pool_exactly": ("src/nn/pool/api.c",),
    "decide": ("src/reduce/sum.c", "src/linalg/recurrence.c", "src/rounding/sums.c"),
    "approximate": ("src/linalg/recurrence.c",),
    "settle": ("src/linalg/",),
    "is_long": ("src/fft/api.c",),
    "round_row": ("src/fft/api.c",),
    "rm_ball_round": ("src/fft/decide.c",),
}
INSTEAD = {  # the macros of calls whose surroundings have other names: by source, function and test
    ("src/blas/gemm/gemm_dd.h", "rm_round_again", "rm_round_scaled"): "rm_round_scaled_again",
    ("src/blas/conv/kernels.c", "round_row", "rm_round_vector"): "rm_round_vector_of_row",
    ("src/blas/conv/kernels.c", "resolve_lanes", "rm_round_vector"): "rm_round_vector_of_lanes",
    ("src/blas/conv/depthwise_channels.h", "rm_channels_round", "rm_round_vector"): "rm_round_vector_of_channels",
    ("src/blas/conv/depthwise_channels.h", "rm_channels_resolve", "rm_decide_b64"): "rm_decide_b64_of_channel",
    ("src/blas/conv/depthwise_channels.h", "rm_channels_resolve", "rm_pair_to_odd"): "rm_pair_to_odd_of_channel",
    ("src/blas/conv/depthwise_weights.h", "rm_weights_round", "rm_round_vector"): "rm_round_vector_of_weights",
    ("src/blas/conv/kernels.c", "resolve_lanes", "rm_pair_to_odd"): "rm_pair_to_odd_of_lane",
    ("src/linalg/recurrence.c", "round_entry", "decide"): "decide_entry",
    ("src/linalg/determinant.c", "settle_by_factors", "settle"): "settle_determinant",
    ("src/rounding/sums.c", "put", "decide"): "decide_at_random",
    ("src/rounding/sums.c", "decide", "rm_round_dd"): "rm_round_dd_at_random",
    ("src/fft/decide.c", "rm_fft_decide_quickly", "rm_ball_round"): "rm_ball_round_of_number",
    ("src/fft/kernels.c", "round_f32", "vf64_undecided_within"): "undecided_part_f32",
    ("src/fft/kernels.c", "round_f64", "vf64_undecided_f64"): "undecided_part_f64",
}
# Tests that are part of others, which are watched.
WITHIN = {"rm_decide_b64": "rm_decide_sum_b64", "rm_round_columns": "rm_round_sums"}
DEFINITION = re.compile(r"^(?:\w[\w *]*[ *])?(\w+)\((?:[^;\n]*|.*\{.*)$", re.MULTILINE)
KINDS = ["row", "settle", "reach", "ends", "known", "sum", "target", "deviations", "function", "part"]  # as in watch.h
RECORD = np.dtype(
    [
        *((name, "i4") for name in ("kind", "decided", "site", "shift")),
        *((name, "f8") for name in ("hi", "lo", "err", "more")),
        ("at", "i8"),
    ]
)


def function_around(text: str, at: int) -> str:
    """The name of the function whose body, or first line, has this place: definitions begin a line."""
    end = text.find("\n", at)
    begins = [m[1] for m in DEFINITION.finditer(text[: end if end >= 0 else len(text)])]
    return begins[-1] if begins else ""


def watched(path: str, text: str) -> tuple[str, set[str]]:
    """The text of a source with its calls of tests watched; which these are. A definition or declaration begins a line."""
    found = set()

    def call(match: re.Match[str]) -> str:
        name, line = match[2], text[text.rfind("\n", 0, match.start()) + 1 : match.start(2)]
        if (
            re.fullmatch(r"(?:RM_\w+|static|extern)[\w\s*]*", line)
            or line.startswith(" *")
            or not path.startswith(ONLY.get(name, ("",)))
            or (name in WITHIN and function_around(text, match.start()) == WITHIN[name])
        ):
            return match[0]
        name = INSTEAD.get((path, function_around(text, match.start()), name), name)
        found.add(name)
        return f"{match[1]}WATCH_{name}("

    return re.sub(rf"(\b)({'|'.join(WATCHED)})\(", call, text), found


def files(folder: pathlib.Path) -> list[pathlib.Path]:
    """Files that a compiler reads."""
    return [source for kind in ("*.[ch]", "*.inl", "*.inc", "*.def") for source in folder.rglob(kind)]


def copied(to: pathlib.Path, edit: dict[str, list[tuple[str, str]]]) -> None:
    """The sources; edit: a part of a file and what stands there instead, for controls."""
    found: set[str] = set()
    for folder in ("src", "crlibm", "include", "proofs/exact"):
        for source in files(ROOT / folder):
            text, name = source.read_text(), str(source.relative_to(ROOT))
            for old, new in edit.get(name, ()):
                if text.count(old) != 1:
                    raise RuntimeError(f"{name}: {old!r} stands there {text.count(old)} times")
                text = text.replace(old, new)
            if name == "crlibm/config.h":
                inlined = "static inline __attribute__((always_inline, unused))"
                assert text.count(inlined) == 1
                text = text.replace(inlined, "static __attribute__((unused))")  # seconds instead of minutes
            if folder == "src" and not name.startswith("src/cuda"):
                text, here = watched(name, text)
                found |= here
            target = to / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    (to / "proofs/lanes.h").write_text((ROOT / "proofs/lanes.h").read_text())
    unknown = [name for name in edit if not (to / name).exists()]
    if unknown:
        raise RuntimeError(f"no {unknown} to edit")
    missing = set(WATCHED) - found
    if missing:
        raise RuntimeError(f"no call of {missing} is left to watch")


def build(
    folder: pathlib.Path, lanes: int, fma: bool, edit: dict[str, list[tuple[str, str]]] | None = None, level: str = "-O1"
) -> pathlib.Path:
    copied(folder, edit or {})
    cc = shlex.split(os.environ.get("CC", "cc"))
    common = [
        *cc,
        "-std=gnu11",
        level,
        "-fPIC",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-w",
        "-D_GNU_SOURCE=",
        f"-DRM_CFG_ONE_ISA={ISAS[lanes]}",
        "-I",
        folder / "include",
        "-I",
        folder,
    ]
    common += ["-include", folder / "proofs/exact/watch.h", *(["-mfma"] if fma else [])]
    sources = [
        s
        for part in ("blas", "reduce", "nn", "random", "common", "linalg", "fft")
        for s in sorted((folder / "src" / part).rglob("*.c"))
    ]
    sources += [folder / name for name in ("src/rounding/sums.c", "src/runtime/threads.c", "proofs/exact/table.c")]
    sources += [folder / "proofs/exact/accurate.c"]
    objects = []
    for source in sources:
        objects.append(folder / f"{source.parent.name}-{source.stem}.o")
        own = [f"-DRM_CFG_SIMD=RM_SIMD_{BUILDS[lanes]}", "-include", folder / "proofs/exact/vocabulary.h"]
        vector = str(source.relative_to(folder)) in VECTORS
        if source.name == "table.c":
            own = own[:1]
        subprocess.run(
            [*common, *(own if vector or source.name == "table.c" else []), "-c", source, "-o", objects[-1]], check=True
        )
    library = folder / "libexact.so"
    subprocess.run([*cc, "-shared", *objects, "-lm", "-lpthread", "-o", library], check=True)
    return library


class Watched:
    """A library and its records."""

    def __init__(self, path: pathlib.Path, lanes: int):
        self.library, self.lanes = ctypes.CDLL(str(path)), lanes
        self.open = ctypes.c_int.in_dll(self.library, "exact_open")
        assert self.library.rm_set_num_threads(1) == 0  # records in their order
        self.library.exact_take.restype = ctypes.c_int64
        self.library.exact_site.restype = ctypes.c_char_p
        self.folder = path.parent
        self.room = np.zeros(1 << 20, RECORD)

    def records(self) -> np.ndarray:
        n = self.library.exact_take(self.room.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(len(self.room)))
        assert n <= len(self.room), "too many records"
        return self.room[:n].copy()

    def place(self, site: int) -> tuple[str, int]:
        """The source and line of a call that has made records."""
        line = ctypes.c_int()
        file = pathlib.Path(self.library.exact_site(ctypes.c_int32(site), ctypes.byref(line)).decode())
        return str(file.resolve().relative_to(self.folder.resolve())), line.value

    def tiers(self) -> Iterator[bool]:
        """As it is, and with all that the first tiers test left open."""
        for left_open in (0, 1):
            self.open.value = left_open
            self.records()
            yield bool(left_open)
        self.open.value = 0
