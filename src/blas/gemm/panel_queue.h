/* A queue of the panels of a block, from which any thread may take one, so that a thread that has no block left helps those
 * that have one. Cores are not equally fast, and other work delays some of them, so equal blocks do not end together. */
#pragma once

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "kernels.h"

/* Each thread has one; a thread that is alone has none. */
struct rm_panel_queue {
  const void *pass; /* for the engine's `help` */
  atomic_int inside; /* helpers, counted by twos, and 1 while they may enter */
  _Atomic(int64_t) next; /* the first panel that nobody has taken */
  _Atomic(int64_t) result; /* what helpers have added up */
};

static inline void rm_panel_queue_init(rm_panel_queue *s) {
  s->pass = 0;
  atomic_init(&s->inside, 0);
  atomic_init(&s->next, 0);
  atomic_init(&s->result, 0);
}

/* The owner lets others take panels, from 0 on. */
static inline void rm_panel_queue_open(rm_panel_queue *s, const void *pass) {
  s->pass = pass;
  atomic_store(&s->next, 0);
  atomic_fetch_or(&s->inside, 1);
}

/* The owner, when no panel is left, waits for the helpers, each at its last panel, and returns what they added up. A helper
 * may have lost its core. */
static inline int64_t rm_panel_queue_close(rm_panel_queue *s) {
  enum { TURNS = 1 << 14 };
  atomic_fetch_and(&s->inside, ~1);
  for (int turn = 0; atomic_load(&s->inside);)
    if (turn < TURNS) turn++;
    else sched_yield();
  return atomic_exchange(&s->result, 0);
}

/* A helper enters, unless the queue is closed: the owner waits for all that are inside when it closes. */
static inline int rm_panel_queue_enter(rm_panel_queue *s) {
  if (!(atomic_load_explicit(&s->inside, memory_order_relaxed) & 1)) return 0;
  if (atomic_fetch_add(&s->inside, 2) & 1) return 1;
  atomic_fetch_sub(&s->inside, 2);
  return 0;
}
static inline void rm_panel_queue_leave(rm_panel_queue *s, int64_t result) {
  atomic_fetch_add(&s->result, result);
  atomic_fetch_sub(&s->inside, 2);
}

/* Returns the next panel; `mine` counts them where there is no queue. */
static inline int64_t rm_panel_queue_take(rm_panel_queue *s, int64_t *mine) {
  return s ? atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed) : (*mine)++;
}
