/* Searches a total for parts that cancel (cancel.h). */
#include "cancel.h"

#include <stdlib.h>

typedef struct {
  double key;
  int64_t at;
} keyed;

static int by_key(const void *a, const void *b) {
  const double x = ((const keyed *)a)->key, y = ((const keyed *)b)->key;
  return (x > y) - (x < y);
}

char *rm_parts_that_cancel(int64_t n, rm_part_fn *part, const void *operation, rm_row_state *state) {
  char *cancels = calloc((size_t)n + 1, 1);
  keyed *order = malloc(((size_t)n + 1) * sizeof *order);
  int64_t count = 0;
  if (!cancels || !order) {
    free(cancels);
    free(order);
    state->failure |= RM_ROW_NO_MEMORY;
    return NULL;
  }
  rm_ball sum, factor;
  for (int64_t i = 0; i < n; i++) {
    order[count].at = i;
    count += part(operation, i, &order[count].key, &factor);
  }
  qsort(order, (size_t)count, sizeof *order, by_key);
  for (int64_t first = 0, end; first < count; first = end) {
    double key;
    rm_ball_set(&sum, 0.0, RM_BALL_LIMBS);
    for (end = first; end < count && order[end].key == order[first].key; end++) {
      part(operation, order[end].at, &key, &factor);
      rm_ball_add(&sum, &sum, &factor);
    }
    for (int64_t i = first; i < end; i++) cancels[order[i].at] = rm_ball_is_zero(&sum);
  }
  free(order);
  return cancels;
}
