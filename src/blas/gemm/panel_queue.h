/* Panels of a block that any thread may take: one that has no block left helps those that have. Cores are not equally fast, and other
 * work delays some of them, so equal blocks do not end together. */
#ifndef RM_BLAS_GEMM_PANEL_QUEUE_H
#define RM_BLAS_GEMM_PANEL_QUEUE_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "kernels.h"

/* One for each thread; none where a thread is alone. */
struct rm_share {
  const void *pass;        /* for the engine's `help` */
  atomic_int inside;       /* helpers, counted by twos, and 1 while they may enter */
  _Atomic(int64_t) next;   /* the first panel that nobody has taken */
  _Atomic(int64_t) result; /* what helpers have added up */
};

static inline void rm_share_start(rm_share *s) {
  s->pass = 0;
  atomic_init(&s->inside, 0);
  atomic_init(&s->next, 0);
  atomic_init(&s->result, 0);
}

/* The owner: panels from 0 on are to be taken. */
static inline void rm_share_open(rm_share *s, const void *pass) {
  s->pass = pass;
  atomic_store(&s->next, 0);
  atomic_fetch_or(&s->inside, 1);
}

/* The owner, when no panel is left: waits for the helpers, each at its last panel, and returns what they added up. A helper may have
 * lost its core. */
static inline int64_t rm_share_close(rm_share *s) {
  enum { TURNS = 1 << 14 };
  atomic_fetch_and(&s->inside, ~1);
  for (int turn = 0; atomic_load(&s->inside);)
    if (turn < TURNS) turn++;
    else sched_yield();
  return atomic_exchange(&s->result, 0);
}

/* Who is inside when the owner closes is waited for. */
static inline int rm_share_enter(rm_share *s) {
  if (!(atomic_load_explicit(&s->inside, memory_order_relaxed) & 1)) return 0;
  if (atomic_fetch_add(&s->inside, 2) & 1) return 1;
  atomic_fetch_sub(&s->inside, 2);
  return 0;
}
static inline void rm_share_leave(rm_share *s, int64_t result) {
  atomic_fetch_add(&s->result, result);
  atomic_fetch_sub(&s->inside, 2);
}

/* The next panel; `mine` counts them where nothing is shared. */
static inline int64_t rm_share_take(rm_share *s, int64_t *mine) {
  return s ? atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed) : (*mine)++;
}

#endif
