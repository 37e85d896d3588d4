/* The kernel table of the one build that a proof compiles, and what its rounding tests were given (watch.h). */
#include <string.h>

#include "../../crlibm/config.h"
#include "../../include/repmath/core.h"
#include "../../src/dispatch/kernels.h"
#include "../../src/nn/kernels.h"
#include "../../src/random/kernels.h"
#include "watch.h"

extern const struct rm_reduce_kernels RM_ISA_SYMBOL(rm_reduce_table);
extern const struct rm_blas_kernels RM_ISA_SYMBOL(rm_blas_table);
extern const struct rm_nn_kernels RM_ISA_SYMBOL(rm_nn_table);
extern const struct rm_random_kernels RM_ISA_SYMBOL(rm_random_table);

const struct rm_kernels *rm_kernels_get(void) {
  static struct rm_kernels table;
  table.name = RM_ISA_NAME;
  table.reduce = &RM_ISA_SYMBOL(rm_reduce_table);
  table.blas = &RM_ISA_SYMBOL(rm_blas_table);
  table.nn = &RM_ISA_SYMBOL(rm_nn_table);
  table.random = &RM_ISA_SYMBOL(rm_random_table);
  return &table;
}
const char *rm_isa(void) { return RM_ISA_NAME; }

enum { ROOM = 1 << 20 };
static struct exact_record records[ROOM];
static int64_t made;
int exact_open;
int64_t exact_place;
void exact_watch(int kind, int decided, double hi, double lo, double err, double more) {
  if (made < ROOM) records[made] = (struct exact_record){kind, decided, hi, lo, err, more};
  made++;
}
/* The records since the last call, and how many there are: more than `room` were lost. */
int64_t exact_take(struct exact_record *to, int64_t room) {
  const int64_t n = made;
  memcpy(to, records, (size_t)(n < room ? n : room) * sizeof *to);
  made = 0;
  return n;
}
