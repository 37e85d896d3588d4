/* Checks of arguments that all operators over rows share. */
#include "../../common/overlap.h"
#include "parallel.h"

int rm_rows_are_apart(rm_row_array out, int64_t rows, int64_t n, int size, rm_row_array x, int64_t n_x) {
  if (rows == 0 || n == 0) return 1;
  const rm_view a = {out.base, out.row, out.stride}, b = {x.base, x.row, x.stride};
  if (rm_overlaps_itself(a, rows, n, size)) return 0;
  if (n_x == 0 || !x.base) return 1;
  if (out.base == x.base && out.row == x.row && out.stride == x.stride && n == n_x) return 1;
  return !rm_overlaps(a, rows, n, size, b, rows, n_x, size);
}
