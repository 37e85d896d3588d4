"""The demo's picture: the digests as colours, and how far the losses of the runs drift apart."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

OURS, THEIRS = "#1b6ca8", "#c2571a"
SHOWN = 24  # hexadecimal digits of each digest


def _fingerprints(ax, runs, groups):
    digits = np.array([[int(c, 16) for c in run.digest[:SHOWN]] for run in runs])
    ax.imshow(digits, cmap="twilight", vmin=0, vmax=16, aspect="auto", interpolation="nearest")
    names = [f"{name}: {run.label}" for name, members in groups for run in members]
    ax.set_yticks(range(len(runs)), names, fontsize=8)
    theirs = len(groups[-1][1])
    for i, label in enumerate(ax.get_yticklabels()):
        label.set_color(THEIRS if i >= len(runs) - theirs else OURS)
    line = -0.5
    for _, members in groups[:-1]:
        line += len(members)
        ax.axhline(line, color="white", linewidth=4)
    ax.set_xticks([0, 7, 15, SHOWN - 1], ["1", "8", "16", str(SHOWN)])
    ax.set_xlabel("hexadecimal digit of the SHA-256 of the trained weights")
    ax.set_title("Equal rows are equal bits", loc="left")
    ax.tick_params(axis="y", length=0)
    for side in ax.spines.values():
        side.set_visible(False)


def _drift(ax, ours, theirs):
    """Difference of the training loss from the group's first run, step by step; zero has a place of its own."""
    floor = 1e-9
    steps = np.arange(1, len(ours[0].losses) + 1)
    for runs, colour in ((theirs, THEIRS), (ours, OURS)):
        for run in runs[1:]:
            gap = np.abs(run.losses - runs[0].losses)
            ax.plot(steps, np.where(gap > 0, gap, floor), color=colour, linewidth=2.5 if runs is ours else 1.3)
    ax.set_yscale("log")
    ax.set_ylim(floor / 2, 4 * ax.get_ylim()[1])  # room for the name above the curves
    ticks = [t for t in 10.0 ** np.arange(-8, 3) if t < ax.get_ylim()[1]]
    ax.set_yticks([floor, *ticks], ["0", *(f"$10^{{{round(np.log10(t))}}}$" for t in ticks)])
    ax.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    ax.set_xlim(1, len(steps))
    ax.set_xlabel("training step of GPT-2")
    ax.set_ylabel("difference of the loss, nats a byte")
    ax.set_title("Distance from the group's first run", loc="left")
    ax.text(0.98, 0.05, "repmath: exactly 0", color=OURS, ha="right", transform=ax.transAxes, weight="bold")
    ax.text(0.98, 0.95, "PyTorch, deterministic algorithms", color=THEIRS, ha="right", transform=ax.transAxes, weight="bold")
    ax.grid(axis="y", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)


def draw(convolutions, ours, theirs, folder):
    """Write folder/demo.png; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update({"font.size": 10, "axes.titlesize": 11, "axes.titleweight": "bold"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 7), layout="constrained", width_ratios=(1.15, 1))
    libraries = dict.fromkeys(run.library for run in convolutions)
    groups = [(f"{name}, digits", [r for r in convolutions if r.library == name]) for name in libraries]
    groups += [("GPT-2 with repmath", ours), ("GPT-2, PyTorch alone", theirs)]
    _fingerprints(left, [run for _, members in groups for run in members], groups)
    _drift(right, ours, theirs)
    counts = [len({run.digest for run in runs}) for runs in (convolutions, ours, theirs)]
    figure.suptitle(
        f"Digits: {len(convolutions)} runs, {counts[0]} result.  GPT-2 with repmath: {len(ours)} runs, {counts[1]} result.  "
        f"PyTorch alone: {len(theirs)} runs, {counts[2]} results.",
        fontsize=12,
    )
    path = folder / "demo.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    Image.open(path).convert("RGB").quantize(64).save(
        path, optimize=True
    )  # small enough for a page: docs/demo.png is such a picture
    return path
