/* Launches of operators over rows. In the fast phase all threads of a block share the work on a row (rows_fast.h); in the
 * accurate phase one thread leads the block of an undecided row (rows_accurate.h). Both run the CPU's function of a row, and
 * each file of an operator includes one of the two. */
#pragma once

#include "undecided.h"

extern "C" {
#include "../nn/rows/parallel.h" /* declares argument checks, which are C */
}

namespace {

const int64_t RM_ROW_MEMORY = INT64_C(1) << 29; /* of all workers */

/* The workspace for rows of n numbers. A worker is a thread block. */
struct row_memory {
  int64_t pitch, each, workers; /* each: bytes of a worker */
  int buffers;
  char *base = nullptr;
  row_memory(int64_t n, int buffers_each, int64_t limit, int64_t room)
      : pitch((n + 2 * RM_ROW_PAD - 1) / RM_ROW_PAD * RM_ROW_PAD), each(pitch * ((buffers_each + 1) * 8 + 8)), workers(limit),
        buffers(buffers_each) {
    if (workers > room / each) workers = room / each;
    if (workers < 1) workers = 1;
  }
  size_t bytes() const { return static_cast<size_t>(workers * each); }
  bool set(const workspace &work) {
    base = static_cast<char *>(work.data);
    return base != nullptr;
  }
  __device__ rm_row_state state(int64_t worker) const {
    double *work = reinterpret_cast<double *>(base + worker * each);
    rm_row_state s = {};
    s.work = work, s.undecided = reinterpret_cast<int64_t *>(work + pitch * (buffers + 1)),
    s.pitch = static_cast<size_t>(pitch);
    s.buffers = buffers;
    return s;
  }
};

} // namespace
