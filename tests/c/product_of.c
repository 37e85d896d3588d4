/* One product of a file's vectors x and y: product_of FORMAT ROWS COLUMNS K BY_TERMS FILE prints the bits of the ROWS x
 * COLUMNS elements, each the sum of x[k] y[k]. BY_TERMS: the terms of a column of B are neighbours in memory, else its
 * columns are. With ALPHA and BETA after FILE: alpha times the sum and beta times the element after y in the file, by
 * rm_gemm. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repmath/repmath.h"

int main(int count, char **argument) {
  if (count != 7 && count != 9) return 2;
  const int format = atoi(argument[1]), by_terms = atoi(argument[5]), scaled = count == 9;
  const int64_t m = atoll(argument[2]), n = atoll(argument[3]), k = atoll(argument[4]);
  const size_t size = format == RM_FORMAT_F64 ? 8 : format == RM_FORMAT_F32 ? 4 : 2;
  char *a = malloc((size_t)(m * k) * size), *b = malloc((size_t)(n * k) * size), *c = malloc((size_t)(m * n) * size);
  char *x = malloc((size_t)k * size), *y = malloc((size_t)k * size), old[8];
  FILE *file = fopen(argument[6], "rb");
  if (!a || !b || !c || !x || !y || !file || fread(x, size, (size_t)k, file) != (size_t)k ||
      fread(y, size, (size_t)k, file) != (size_t)k || fread(old, size, (size_t)scaled, file) != (size_t)scaled)
    return 3;
  for (int64_t i = 0; i < m; i++) memcpy(a + (size_t)(i * k) * size, x, (size_t)k * size);
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < n; j++) memcpy(b + (size_t)(by_terms ? j * k + i : i * n + j) * size, y + (size_t)i * size, size);
  for (int64_t i = 0; i < m * n * scaled; i++) memcpy(c + (size_t)i * size, old, size);
  const ptrdiff_t s = (ptrdiff_t)size, row_b = by_terms ? s : s * n, col_b = by_terms ? s * k : s;
  const rm_status status =
      scaled ? rm_gemm(format, RM_ROW_MAJOR, RM_NO_TRANS, by_terms ? RM_TRANS : RM_NO_TRANS, m, n, k, atof(argument[7]), a, k,
                       b, by_terms ? k : n, atof(argument[8]), c, n)
             : rm_matmul_batched(format, format, 1, m, n, k, a, 0, s * k, s, b, 0, row_b, col_b, NULL, 0, 0, c, 0, s * n, s);
  if (status) return 4;
  for (int64_t i = 0; i < m * n; i++) {
    uint64_t bits = 0;
    memcpy(&bits, c + (size_t)i * size, size); /* little endian */
    printf("%" PRIx64 "\n", bits);
  }
  fclose(file);
  free(a), free(b), free(c), free(x), free(y);
  return 0;
}
