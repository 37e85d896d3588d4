"""A page of a study: tables, pictures, and the files behind them with their SHA-256."""

import csv
import hashlib
import html
import io
import os
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import repmath

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1c2733}"
    "h1,h2{font-weight:600}table{border-collapse:collapse;margin:1rem 0}td,th{padding:.25rem .8rem;border-bottom:1px solid #d7dde3;"
    "text-align:right}td:first-child,th:first-child{text-align:left}img{max-width:100%}code{font-size:.8rem;color:#52606d}"
)


class Report:
    """Writes CSV files, pictures and index.html into a folder."""

    def __init__(self, out: str | os.PathLike[str], title: str) -> None:
        self.folder = pathlib.Path(out)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.title = title
        self.digests: dict[str, str] = {}
        self._parts: list[str] = []

    def text(self, words: str) -> None:
        self._parts.append(f"<p>{html.escape(words)}</p>")

    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
        """Writes name.csv, numbers with all their digits, and shows the table. Returns the SHA-256 of the file."""
        if any(len(row) != len(columns) for row in rows):
            raise ValueError(f"rows must have {len(columns)} cells, as columns has names")
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([[repr(float(v)) if isinstance(v, float) else v for v in row] for row in rows])
        data = text.getvalue().encode()
        (self.folder / f"{name}.csv").write_bytes(data)
        self.digests[f"{name}.csv"] = digest = hashlib.sha256(data).hexdigest()
        head = "".join(f"<th>{html.escape(str(c))}</th>" for c in columns)
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(_short(v))}</td>' for v in row)}</tr>" for row in rows[:60])
        self._parts.append(f"<h2>{html.escape(caption or name)}</h2><table><tr>{head}</tr>{body}</table>")
        self._parts.append(f"<p><code>{name}.csv, SHA-256 {digest}</code></p>")
        return digest

    def picture(self, name: str, caption: str) -> pathlib.Path:
        """A place for a picture, which the caller draws."""
        self._parts.append(f'<h2>{html.escape(caption)}</h2><img src="{name}.png" alt="{html.escape(caption)}">')
        return self.folder / f"{name}.png"

    def close(self) -> pathlib.Path:
        """Writes index.html."""
        made = f"repmath {repmath.__version__}, Python {sys.version.split()[0]}; command: {' '.join(sys.argv)}"
        page = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(self.title)}</title><style>{_STYLE}</style>'
            f"<h1>{html.escape(self.title)}</h1>{''.join(self._parts)}<p><code>{html.escape(made)}</code></p></html>"
        )
        path = self.folder / "index.html"
        path.write_text(page, encoding="utf-8")
        return path


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
