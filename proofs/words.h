/* The intrinsics of which avx512.h makes its words of a quotient or a root, as operations that are recorded. words.py writes
 * the file that includes this one, with the words' own source from avx512.h in between, and main. */
#include "record.h"

#undef RM_FN
#define RM_FN static
typedef vf64 __m512d;
#define vf64_root word_root
#define vf64_quotient word_quotient
#define vf64_rsqrt word_rsqrt
#define vf64_reciprocal word_reciprocal

static vf64 one(const char *operation, vf64 a) { return (vf64){rec("%s #%d", operation, a.id)}; }
static vf64 three(const char *operation, vf64 a, vf64 b, vf64 c) {
  return (vf64){rec("%s #%d #%d #%d", operation, a.id, b.id, c.id)};
}
#define _mm512_set1_pd(x) vf64_set1(x)
#define _mm512_mul_pd(a, b) vf64_mul(a, b)
#define _mm512_max_pd(a, b) ((void)(b), a) /* within the word's domain a is the larger */
#define _mm512_fmadd_pd(a, b, c) three("mad", a, b, c)
#define _mm512_fnmadd_pd(a, b, c) three("nmad", a, b, c)
#define _mm512_rsqrt14_pd(a) one("rsqrt14", a)
#define _mm512_rcp14_pd(a) one("rcp14", a)
