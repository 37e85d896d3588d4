/* How many roundings of binary32 a term passes in products of bf16 matrices by products of pairs:
 * src/blas/gemm/chains_sums.h over depths (vocabulary.h), for 8 lanes. A word of a row or column, two elements of it, is a
 * depth itself. pairs LONGEST [ALLOWANCES LESS BY] */
#include "vocabulary.h"

/* Joins of groups are additions of binary64: they are counted by themselves. */
static int64_t joins;
static vf64 depth_join(vf64 a, vf64 b) { return joins++, vf64_max(a, b); }
#define vf64_add depth_join

typedef struct {
  float v[16];
} vf32;
typedef vf32 vbytes;
#define WORDS_OF(e)                                 \
  vf32 r;                                           \
  for (int q = 0; q < 16; q++) r.v[q] = (float)(e); \
  return r;
static float word(const void *p, int at) {
  float x;
  memcpy(&x, (const char *)p + 4 * at, 4);
  return x;
}
static vbytes vbytes_load(const void *p) { WORDS_OF(word(p, q)) }
static vbytes vbytes_pair(const char *p) { WORDS_OF(word(p, 0)) }
static vf32 vf32_set1(float x) { WORDS_OF(x) }
static vf32 vf32_load_f32(const float *p) { WORDS_OF(p[q]) }
static vf32 vf32_load_rounded(const double *p) { WORDS_OF(p[q]) }
static void vf32_store_f32(float *p, vf32 a) { memcpy(p, a.v, sizeof a.v); }
static vf32 vf32_add(vf32 a, vf32 b) { WORDS_OF(depth_sum(a.v[q], b.v[q])) }
/* Two products and two additions, in whichever order: what is there passes both, and so may either product; the addition to
 * nothing is exact. */
static vf32 vf32_add_pairs(vf32 sum, vbytes a, vbytes b) {
  vf32 r;
  for (int q = 0; q < 16; q++) {
    const double d = depth_product(a.v[q], b.v[q]), s = sum.v[q];
    r.v[q] = (float)(d == 0 ? s : s == 0 ? d + 1 : (s > d ? s : d) + 2);
  }
  return r;
}

#include "../../src/blas/gemm/chains_b32.h"
#include "../../src/blas/gemm/chains_sums.h"

enum { NEAR = 1 << 16, MOST = (RM_CHAINS_MAX_K / 2 / RM_CHAIN_PAIRS + 1) * RM_CHAIN_PAIRS };

static float a[RM_CHAIN_ROWS * MOST], b[MOST * RM_CHAIN_SIDE], sums[RM_CHAIN_ROWS * RM_CHAIN_SIDE];
static double totals[RM_CHAIN_ROWS * RM_CHAIN_SIDE];

/* The bound gives the term of each pair its own number of roundings; a marked one shows its own. */
static void chains(record *r, record *of_groups, int64_t k) {
  char where[80];
  const int64_t pairs = (k + 2 * RM_CHAIN_PAIRS - 1) / (2 * RM_CHAIN_PAIRS) * RM_CHAIN_PAIRS, used = (k + 1) / 2;
  for (int64_t i = 0; i < RM_CHAIN_ROWS * pairs; i++) a[i] = i % pairs < used;
  for (int64_t i = 0; i < RM_CHAIN_SIDE * pairs; i++) b[i] = i / RM_CHAIN_SIDE < used;
  for (int64_t marked = 0; marked < used; marked += k > 300 ? 61 : 1) {
    const int row = (int)(marked % RM_CHAIN_ROWS);
    float *const at = a + row * pairs + marked;
    snprintf(where, sizeof where, "K %lld, pair %lld", (long long)k, (long long)marked);
    *at = NEAR + 1, joins = 0;
    rm_sums_of_chains((const char *)a, (ptrdiff_t)(4 * pairs), (const char *)b, pairs, sums, totals);
    *at = 1;
    const double allowed = rm_roundings_b32(rm_chains_b32(k), (int)(marked % RM_GROUP_PAIRS));
    for (int c = 0; c < RM_CHAIN_SIDE; c++) counted(r, sums[row * RM_CHAIN_SIDE + c] - NEAR - 1.0, allowed, where);
    counted(of_groups, (double)joins * RM_LANES / (RM_CHAIN_ROWS * RM_CHAIN_SIDE), 32, where);
  }
}

int main(int count, char **arguments) {
  const int64_t longest = count > 1 ? atoll(arguments[1]) : 0;
  depth_less = count > 2 ? atof(arguments[2]) : 0;
  record *r = record_of("products of pairs, chains"), *of_groups = record_of("products of pairs, groups");
  for (int64_t k = RM_CHAINS_MIN_K; k <= 300; k += k < 150 ? 1 : 7) chains(r, of_groups, k);
  for (int64_t k = 1000; k <= RM_CHAINS_MAX_K && k < longest; k += 1032) chains(r, of_groups, k);
  chains(r, of_groups, RM_CHAINS_MAX_K);
  return told(r) | told(of_groups);
}
