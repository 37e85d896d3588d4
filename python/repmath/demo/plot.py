"""The demo's picture: the digests as colours, and how far the weights of the runs drift apart."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

OURS, THEIRS = "#1b6ca8", "#c2571a"
SHOWN = 24  # hexadecimal digits of each digest


def _fingerprints(ax, runs, ours):
    digits = np.array([[int(c, 16) for c in run.digest[:SHOWN]] for run in runs])
    ax.imshow(digits, cmap="twilight", vmin=0, vmax=16, aspect="auto", interpolation="nearest")
    ax.set_yticks(range(len(runs)), [f"{'NumPy' if run.backend == 'numpy' else run.backend}: {run.label}" for run in runs])
    for label, run in zip(ax.get_yticklabels(), runs, strict=True):
        label.set_color(OURS if run.backend == "repmath" else THEIRS)
    ax.axhline(ours - 0.5, color="white", linewidth=5)
    ax.set_xticks([0, 7, 15, SHOWN - 1], ["1", "8", "16", str(SHOWN)])
    ax.set_xlabel("hexadecimal digit of the SHA-256 of the trained weights")
    ax.set_title("Equal rows are equal bits", loc="left")
    ax.tick_params(axis="y", length=0)
    for side in ax.spines.values():
        side.set_visible(False)


def _drift(ax, ours, theirs):
    """Difference of the weights from the group's first run, after each step; zero has a place of its own."""
    floor = 1e-11
    steps = np.arange(1, len(ours[0].result["history"]) + 1)
    for runs, colour in ((theirs, THEIRS), (ours, OURS)):
        first = runs[0].result["history"].astype(np.float64)
        curves = {}
        for run in runs[1:]:
            gap = np.sqrt(np.mean((run.result["history"] - first) ** 2, axis=1))
            curves.setdefault(gap.tobytes(), (gap, []))[1].append(run.label)
        for gap, _ in curves.values():
            ax.plot(steps, np.where(gap > 0, gap, floor), color=colour, linewidth=2.5 if runs is ours else 1.3)
    ax.set_yscale("log")
    ax.set_ylim(floor / 2, None)
    ticks = [t for t in 10.0 ** np.arange(-10, 3) if t < ax.get_ylim()[1]]
    ax.set_yticks([floor, *ticks], ["0", *(f"$10^{{{round(np.log10(t))}}}$" for t in ticks)])
    ax.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    ax.set_xlim(0, len(steps))
    ax.set_xlabel("training step")
    ax.set_ylabel("root mean square difference of the weights")
    ax.set_title("Distance from the group's first run", loc="left")
    ax.text(0.98, 0.10, "repmath: exactly 0", color=OURS, ha="right", transform=ax.transAxes, weight="bold")
    ax.text(0.98, 0.84, "NumPy", color=THEIRS, ha="right", transform=ax.transAxes, weight="bold")
    ax.grid(axis="y", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)


def draw(ours, theirs, folder):
    """Write folder/demo.png; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update({"font.size": 10, "axes.titlesize": 11, "axes.titleweight": "bold"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", width_ratios=(1.15, 1))
    _fingerprints(left, ours + theirs, len(ours))
    _drift(right, ours, theirs)
    ours_count = len({run.digest for run in ours})
    theirs_count = len({run.digest for run in theirs})
    figure.suptitle(
        f"One training on the instruction sets of several machines.  repmath: {ours_count} result of {len(ours)} runs.  "
        f"NumPy: {theirs_count} results of {len(theirs)} runs.",
        fontsize=12,
    )
    path = folder / "demo.png"
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path
