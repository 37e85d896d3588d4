"""Write docs/badges.svg: what the repository's own files show, counted.

    python tools/gen_badges.py           writes it
    python tools/gen_badges.py --check   whether it is fresh

The functions and the share of their float32 results that were compared with an independent oracle are read from docs/evidence.md, which is
made from certificates and golden digests; the certificates are counted.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "badges.svg"
LETTER, HEIGHT, GAP = 6.6, 20, 8  # the width of a letter of 11 pixels, about


def counted() -> list[tuple[str, str]]:
    """Labels and values."""
    table = (ROOT / "docs" / "evidence.md").read_text().partition("\n## Functions\n")[2].partition("\n## ")[0]
    rows = [re.split(r" *\| *", line)[1:-1] for line in table.splitlines() if re.match(r"\| \w+ \|", line)]
    rows = [row for row in rows if row[0] != "function"]
    of_one = [row for row in rows if row[3] != "–" and row[2].startswith("all inputs")]
    found = sum(row[3] == "all" for row in of_one)
    certificates = len(list((ROOT / "proofs" / "certificates").glob("*.json")))
    return [
        ("correctly rounded functions", str(len(rows))),
        ("all 2^32 float32 inputs found right", f"{found} of {len(of_one)}"),
        ("certificates of error bounds", str(certificates)),
    ]


def drawn(badges: list[tuple[str, str]]) -> str:
    parts, x = [], 0.0
    for label, value in badges:
        left, right = (len(text) * LETTER + 10 for text in (label, value))
        parts += [
            f'<rect x="{x:.0f}" width="{left:.0f}" height="{HEIGHT}" fill="#444"/>',
            f'<rect x="{x + left:.0f}" width="{right:.0f}" height="{HEIGHT}" fill="#1a7f37"/>',
            f'<text x="{x + left / 2:.0f}" y="14">{label}</text><text x="{x + left + right / 2:.0f}" y="14">{value}</text>',
        ]
        x += left + right + GAP
    title = "; ".join(f"{label}: {value}" for label, value in badges)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{x - GAP:.0f}" height="{HEIGHT}" role="img" aria-label="{title}">'
    style = '<g font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff" text-anchor="middle">'
    return "\n".join([head, "<!-- by tools/gen_badges.py -->", f"<title>{title}</title>", style, *parts, "</g></svg>"]) + "\n"


def main() -> int:
    text = drawn(counted())
    if "--check" in sys.argv[1:]:
        fresh = PAGE.exists() and PAGE.read_text() == text
        if not fresh:
            print(f"{PAGE.relative_to(ROOT)} is stale: run python tools/gen_badges.py", file=sys.stderr)
        return 0 if fresh else 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
