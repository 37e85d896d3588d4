"""Places of the library that only some data reach, each found by a line of the sources, and a copy of these that counts them.

rm_reached[k] is how often the k-th was reached. In the copy the owner of shared panels can be made to leave them to a thread that helps."""

from __future__ import annotations

from dataclasses import dataclass

FILLED = "const int64_t plane = w->x.count * w->y.count, first = row / plane, end = (row + rows - 1) / plane + 1;"
PACKED = "max_runs = runs[v].runs > max_runs ? runs[v].runs : max_runs;\n    }"
STORED = "if (RM_LIKELY(!undecided && w->whole[j / RM_LANES])) {"


@dataclass(frozen=True)
class Path:
    """Behind `line`, which stands once in the sources, `condition` is counted."""

    name: str
    line: str
    condition: str = "1"


PATHS = (
    Path("window", FILLED),
    Path("window of lines apart along x", FILLED, "w->x.move > 1"),
    Path("window of lines apart along y", FILLED, "w->y.move > 1"),
    Path("window of terms apart", FILLED, "w->x.step > 1 || w->y.step > 1"),
    Path("window of terms that go back", FILLED, "w->x.step < 0"),
    Path("window in three dimensions", FILLED, "w->z.taps > 1 && w->y.taps > 1"),
    Path("window of three dimensions apart", FILLED, "w->z.count > 1 && w->z.move > 1 && w->y.move > 1"),
    Path("window in parts", FILLED, "w->parts"),
    Path("window vectors of two rows", PACKED, "max_runs == 2"),
    Path("window vectors of three rows and more", PACKED, "max_runs > 2"),
    Path("scaled vectors stored whole", STORED),
)
NUMBER = {path.name: k for k, path in enumerate(PATHS)}

# What else the copy does: a line, and what stands there instead. Columns whose rounding a helping thread does are marked.
HELPED = 4096
EDITS = {
    "double *tile = w->c + j / RM_NR * w->row_tiles * RM_TILE;": "{line}\n"
    "  if (rm_helps && t->last)\n"
    f"    for (int64_t c = block->col + j; c < block->col + j + cols && c < {HELPED}; c++) rm_helped[c] = 1;",
    "if (shared) rm_panel_queue_open(shared, &pass);": "{line}\n    if (shared) rm_wait_for_help(shared, w.col_tiles);",
    "if (!rm_panel_queue_enter(queue)) return 0;": "{line}\n  rm_helps = 1;",
    "rm_panel_queue_leave(queue, undecided);": "rm_helps = 0;\n  {line}",
    "/* Returns the next panel; `mine` counts them where there is no queue. */": """#include <unistd.h>
static inline void rm_wait_for_help(rm_panel_queue *s, int64_t panels) {
  if (!rm_owners_wait || __atomic_exchange_n(&rm_one_waits, 1, __ATOMIC_RELAXED)) return;
  for (int turn = 0; turn < 2000 && atomic_load(&s->next) < panels; turn++) usleep(100);
  __atomic_store_n(&rm_one_waits, 0, __ATOMIC_RELAXED);
}
{line}""",
}
DECLARED = """/* For controls: how often paths were reached, and columns that a helping thread has rounded. While rm_owners_wait, one owner of panels at a
 * time leaves them to others, a fifth of a second at most. */
extern long rm_reached[] __attribute__((visibility("default")));
extern char rm_helped[] __attribute__((visibility("default")));
extern int rm_owners_wait __attribute__((visibility("default")));
extern int rm_one_waits;
extern _Thread_local int rm_helps;
#ifndef RM_REACHED
#define RM_REACHED(k, condition) ((void)__atomic_fetch_add(&rm_reached[k], (condition) ? 1 : 0, __ATOMIC_RELAXED))
#endif
"""
DEFINED = f"""{DECLARED}long rm_reached[{len(PATHS)}];
char rm_helped[{HELPED}];
int rm_owners_wait, rm_one_waits;
_Thread_local int rm_helps;
"""


def counted(text: str, seen: set[str]) -> str:
    """The text with its paths counted; `seen` gets the lines that were found."""
    plain = text
    for line in dict.fromkeys([path.line for path in PATHS] + list(EDITS)):
        if line not in text:
            continue
        if text.count(line) > 1 or line in seen:
            raise RuntimeError(f"{line!r} stands twice in the sources")
        seen.add(line)
        counts = "".join(f"\nRM_REACHED({NUMBER[path.name]}, {path.condition});" for path in PATHS if path.line == line)
        text = text.replace(line, line + counts if counts else EDITS[line].replace("{line}", line))
    return text if text == plain else DECLARED + text


def check_all(seen: set[str]) -> None:
    missing = {path.line for path in PATHS} | EDITS.keys()
    if missing - seen:
        raise RuntimeError(f"no source has {missing - seen}: name lines that stand there")
