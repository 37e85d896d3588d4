/* The table of functions that src/blas compiles once per ISA. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../common/stats.h"
#include "../../runtime/isa.h"
#include "views.h"

/* The limit of a block's columns where an element has two numbers in the workspace. */
enum { RM_COLS_DD = 528 };

/* A block of C: rows [row, row + rows), columns [col, col + cols). */
typedef struct {
  int64_t row, rows, col, cols;
} rm_block;

typedef struct rm_panel_queue rm_panel_queue; /* panel_queue.h */
typedef struct rm_layout_b64 rm_layout_b64; /* layout_b64.h */

/* An engine computes C in blocks, each by one call. */
typedef struct {
  int row_unit, col_unit; /* blocks whose sides are multiples of these waste nothing */
  /* Bytes of workspace that a block of this size needs, at any alignment. */
  size_t (*work)(const rm_matmul_problem *p, int64_t rows, int64_t cols);
  /* Computes one block of C; adds to *tiers; returns RM_FLAG_* bits. Others may help where queue is not NULL. */
  uint32_t (*block)(const rm_matmul_problem *p, const rm_block *block, void *work, rm_tiers *tiers, rm_panel_queue *queue);
  /* Computes panels of a block from another thread's queue, in a workspace of its own; returns whether there were any.
   * NULL: the engine has no queues. */
  int (*help)(rm_panel_queue *queue, void *work);
} rm_engine;

struct rm_blas_kernels {
  rm_engine engine[4]; /* in the order of the formats */
  /* Decides the flagged elements of a block whose sums another engine made (tiles.c), within the binary64 engine's bounds;
   * returns flags. */
  uint32_t (*resolve_b64)(const rm_layout_b64 *w, const rm_matmul_problem *p, const rm_block *block, int64_t undecided,
                          void *work, rm_tiers *tiers);
};
RM_ISA_TABLES(struct rm_blas_kernels, rm_blas_table, rm_blas_kernels)
