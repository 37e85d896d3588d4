/* Solutions and determinants by residues.
 *
 * Rows and columns are scaled by powers of two to integers N; then N y = c with c an integer column. By Cramer's rule y_j =
 * D_j/D with D = det N and D_j = det of N with column j replaced by c. Hadamard's inequality bounds all of them by 2^h.
 * Modulo each of so many primes that their product exceeds 2^(h + 1), elimination gives D and D_j = D y_j; the Chinese
 * remainder theorem gives the integers, and a long division of them is rounded once. D = 0 is certain when it is 0 modulo
 * primes whose product exceeds 2^h. */
#include "exact.h"

#include <string.h>

#include "../common/modular.h"

enum { PRIME_BITS = 61 }; /* every prime is above 2^61 */
#define RM_LINALG_WORK 0x1p39 /* multiplications modulo a prime: some ten minutes */
#define RM_LINALG_LIMBS (INT64_C(1) << 25) /* limbs */
#define RM_LINALG_PRIMES_BELOW ((UINT64_C(1) << 62) + 1)

/* The integers N and c: odd parts, and how far they are shifted. */
typedef struct {
  int64_t n, k;
  const double *a, *b;
  int *row, *col, *rhs; /* A_ij = N_ij 2^(row[i] + col[j]), b_ij = c_ij 2^(row[i] + rhs[j]) */
  int largest_shift;
  int64_t bits; /* all determinants are below 2^bits */
} integers;

static int max_int(int a, int b) { return a > b ? a : b; }
static int min_int(int a, int b) { return a < b ? a : b; }
enum { NONE = 1 << 20 }; /* an exponent above all others */

static int lowest(double x) {
  int e;
  if (x == 0.0) return NONE;
  rm_odd_part(x, &e);
  return e;
}

/* Bits of the integer n 2^k, k >= 0, that lie below its length; 0 for 0. */
static int length_of(double x, int shift) { return x == 0.0 ? 0 : rm_exponent_of(x) + shift + 1; }

static void set_scales(integers *s) {
  const int64_t n = s->n, k = s->k;
  for (int64_t i = 0; i < n; i++) {
    int e = NONE;
    for (int64_t j = 0; j < n; j++) e = min_int(e, lowest(s->a[i * n + j]));
    s->row[i] = e == NONE ? 0 : e;
  }
  for (int64_t j = 0; j < n; j++) {
    int e = NONE;
    for (int64_t i = 0; i < n; i++) e = min_int(e, lowest(s->a[i * n + j]) - s->row[i]);
    s->col[j] = e > NONE / 2 ? 0 : e;
  }
  for (int64_t j = 0; j < k; j++) {
    int e = NONE;
    for (int64_t i = 0; i < n; i++) e = min_int(e, lowest(s->b[i * k + j]) - s->row[i]);
    s->rhs[j] = e > NONE / 2 ? 0 : e;
  }
}

/* Hadamard by rows of (N, c), each norm at most root(n + 1) 2^length, and by columns: norms of columns at least 1, or N is
 * singular, in which case every determinant of n columns that are not 0 has the bound as well. root(n + 1) <= 2^half. */
static void set_bits(integers *s) {
  const int64_t n = s->n, k = s->k;
  int half = 1;
  while (half < 40 && (INT64_C(1) << (2 * half)) < n + 1) half++;
  int64_t by_rows = 0, by_columns = 0;
  int rhs = 0;
  s->largest_shift = 0;
  for (int64_t i = 0; i < n; i++) {
    int length = 0;
    for (int64_t j = 0; j < n; j++) {
      const int l = length_of(s->a[i * n + j], -s->row[i] - s->col[j]);
      length = max_int(length, l);
    }
    for (int64_t j = 0; j < k; j++) {
      const int l = length_of(s->b[i * k + j], -s->row[i] - s->rhs[j]);
      length = max_int(length, l), rhs = max_int(rhs, l);
    }
    by_rows += length + half;
    s->largest_shift = max_int(s->largest_shift, length);
  }
  for (int64_t j = 0; j < n; j++) {
    int length = 0;
    for (int64_t i = 0; i < n; i++) length = max_int(length, length_of(s->a[i * n + j], -s->row[i] - s->col[j]));
    by_columns += length + half;
  }
  by_columns += rhs + half;
  s->bits = by_rows < by_columns ? by_rows : by_columns;
}

/* Memory of one elimination, and of the remainders' sum. */
typedef struct {
  uint64_t *matrix; /* n x (n + columns) residues */
  uint64_t *power;  /* 2^s */
  uint64_t *inverse; /* of pivots */
} residues;

static uint64_t residue_of(const rm_modulus *m, const uint64_t *power, double x, int scale) {
  int e;
  if (x == 0.0) return 0;
  const uint64_t odd = rm_odd_part(x, &e), r = rm_mod_mul(m, rm_mod_of(m, odd), power[e - scale]);
  return x < 0.0 && r ? m->p - r : r;
}

static void load(const integers *s, const rm_modulus *m, int64_t first, int64_t columns, residues *w) {
  const int64_t n = s->n, width = n + columns;
  w->power[0] = m->one;
  for (int i = 1; i <= s->largest_shift; i++) w->power[i] = rm_mod_add(m, w->power[i - 1], w->power[i - 1]);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++)
      w->matrix[i * width + j] = residue_of(m, w->power, s->a[i * n + j], s->row[i] + s->col[j]);
    for (int64_t j = 0; j < columns; j++)
      w->matrix[i * width + n + j] = residue_of(m, w->power, s->b[i * s->k + first + j], s->row[i] + s->rhs[first + j]);
  }
}

static void subtract_row(const rm_modulus *m, uint64_t *to, const uint64_t *from, uint64_t factor, int64_t count) {
  for (int64_t j = 0; j < count; j++) to[j] = rm_mod_sub(m, to[j], rm_mod_mul(m, factor, from[j]));
}

/* The determinant, in Montgomery's form; where it is 0, *dependent is the first column, from 1, without a pivot. The right
 * sides become solutions. */
static uint64_t eliminate(const rm_modulus *m, int64_t n, int64_t columns, residues *w, int64_t *dependent) {
  const int64_t width = n + columns;
  uint64_t det = m->one;
  for (int64_t j = 0; j < n; j++) {
    int64_t p = j;
    while (p < n && w->matrix[p * width + j] == 0) p++;
    if (p == n) {
      *dependent = j + 1;
      return 0;
    }
    uint64_t *pivot = w->matrix + j * width;
    if (p != j) {
      uint64_t *other = w->matrix + p * width;
      for (int64_t c = j; c < width; c++) {
        const uint64_t x = pivot[c];
        pivot[c] = other[c], other[c] = x;
      }
      det = m->p - det;
    }
    det = rm_mod_mul(m, det, pivot[j]);
    w->inverse[j] = rm_mod_inverse(m, pivot[j]);
    for (int64_t i = j + 1; i < n; i++) {
      uint64_t *row = w->matrix + i * width;
      if (row[j]) subtract_row(m, row + j + 1, pivot + j + 1, rm_mod_mul(m, row[j], w->inverse[j]), width - j - 1);
    }
  }
  if (columns)
    for (int64_t i = n - 1; i >= 0; i--) {
      uint64_t *row = w->matrix + i * width;
      for (int64_t j = i + 1; j < n; j++)
        if (row[j]) subtract_row(m, row + n, w->matrix + j * width + n, row[j], columns);
      for (int64_t c = 0; c < columns; c++) row[n + c] = rm_mod_mul(m, row[n + c], w->inverse[i]);
    }
  return det;
}

/* Integers that grow by a prime at a time: value[v] < product, both of `length` limbs at most. */
typedef struct {
  uint64_t *value, *product;
  int64_t count, length, room, primes;
  uint64_t *prime;
} remainders;

static uint64_t limbs_mod(const rm_modulus *m, const uint64_t *x, int64_t length) {
  uint64_t r = 0;
  for (int64_t i = length; i-- > 0;) r = rm_mod_add(m, rm_mod_mul(m, r, m->square), x[i] % m->p);
  return r;
}

/* to += factor from, of `length` limbs; the carry. */
static uint64_t add_multiple(uint64_t *to, const uint64_t *from, uint64_t factor, int64_t length) {
  uint64_t carry = 0;
  for (int64_t i = 0; i < length; i++) {
    const unsigned __int128 t = (unsigned __int128)factor * from[i] + to[i] + carry;
    to[i] = (uint64_t)t, carry = (uint64_t)(t >> 64);
  }
  return carry;
}

/* One more prime, for which value v is residue(v), a plain number below p. */
static void join_value(const rm_modulus *m, remainders *c, int64_t v, uint64_t residue, uint64_t inverse_of_product) {
  uint64_t *x = c->value + v * c->room;
  const uint64_t step = rm_mod_mul(m, rm_mod_sub(m, residue, limbs_mod(m, x, c->length)), inverse_of_product);
  const uint64_t carry = add_multiple(x, c->product, step, c->length);
  if (c->length < c->room) x[c->length] = carry; /* value < product p, which has room */
}
static uint64_t inverse_of_product(const rm_modulus *m, const remainders *c) {
  return rm_mod_inverse(m, rm_mod_of(m, limbs_mod(m, c->product, c->length)));
}
static void join_product(const rm_modulus *m, remainders *c) {
  uint64_t carry = 0;
  for (int64_t i = 0; i < c->length; i++) {
    const unsigned __int128 t = (unsigned __int128)m->p * c->product[i] + carry;
    c->product[i] = (uint64_t)t, carry = (uint64_t)(t >> 64);
  }
  if (carry && c->length < c->room) c->product[c->length++] = carry;
}

static int64_t trimmed(const uint64_t *x, int64_t length) {
  while (length > 0 && x[length - 1] == 0) length--;
  return length;
}

/* x - y, x >= y, into x. */
static void subtract(uint64_t *x, const uint64_t *y, int64_t length) {
  uint64_t borrow = 0;
  for (int64_t i = 0; i < length; i++) {
    const uint64_t t = x[i] - y[i], next = (x[i] < y[i]) | (t < borrow);
    x[i] = t - borrow, borrow = next;
  }
}
static int less(const uint64_t *x, const uint64_t *y, int64_t length) {
  for (int64_t i = length; i-- > 0;)
    if (x[i] != y[i]) return x[i] < y[i];
  return 0;
}

/* Value v as magnitude and sign: it stands for itself, or for itself less the product, whichever is smaller in magnitude. */
static int take_sign(remainders *c, int64_t v, uint64_t *work) {
  uint64_t *x = c->value + v * c->room;
  memcpy(work, c->product, (size_t)c->room * sizeof *work);
  subtract(work, x, c->room);
  if (!less(work, x, c->room)) return 0;
  memcpy(x, work, (size_t)c->room * sizeof *work);
  return 1;
}

static void shift_up(uint64_t *to, const uint64_t *x, int64_t length, int64_t room, int64_t by) {
  memset(to, 0, (size_t)room * sizeof *to);
  for (int64_t i = 0; i < length; i++) {
    const int64_t at = i + by / 64;
    const int bit = (int)(by % 64);
    to[at] |= x[i] << bit;
    if (bit && at + 1 < room) to[at + 1] |= x[i] >> (64 - bit);
  }
}

static int64_t bit_length(const uint64_t *x, int64_t length) {
  return length == 0 ? 0 : 64 * length - rm_clz64(x[length - 1]);
}

/* |x|/|y| 2^e, rounded, by 66 steps of long division; y is not 0. work: 2 (room + 2) limbs. */
static uint64_t round_quotient(const remainders *c, const uint64_t *x, const uint64_t *y, int negative, int64_t e, int format,
                               uint64_t *work, uint32_t *flags) {
  enum { STEPS = 66 };
  const int64_t nx = trimmed(x, c->room), ny = trimmed(y, c->room), length = c->room + 2;
  if (nx == 0) return 0;
  uint64_t *r = work, *d = work + length;
  const int64_t up = bit_length(y, ny) - bit_length(x, nx);
  shift_up(r, x, nx, length, up > 0 ? up : 0);
  shift_up(d, y, ny, length, up < 0 ? -up : 0);
  rm_u128 q = 0;
  for (int i = 0; i < STEPS; i++) { /* r < 2 d */
    q <<= 1;
    if (!less(r, d, length)) subtract(r, d, length), q |= 1;
    for (int64_t k = length - 1; k > 0; k--) r[k] = r[k] << 1 | r[k - 1] >> 63;
    r[0] <<= 1;
  }
  return rm_round_exact(negative, q | (rm_u128)(trimmed(r, length) != 0), e - up - (STEPS - 1), format, RM_NEAREST, flags);
}

/* How many primes do, and the cost. */
static int64_t primes_for(int64_t bits) { return (bits + 2) / PRIME_BITS + 1; }

static int allocate(const integers *s, int64_t columns, int64_t values, residues *w, remainders *c) {
  c->room = primes_for(s->bits) + 2; /* a prime has less than a limb */
  c->count = values, c->length = 1;
  w->matrix = rm_linalg_memory(s->n * (s->n + columns), 8);
  w->power = rm_linalg_memory(s->largest_shift + 1, 8);
  w->inverse = rm_linalg_memory(s->n, 8);
  c->value = rm_linalg_memory((values + 1) * c->room, 8);
  if (!w->matrix || !w->power || !w->inverse || !c->value) return 0;
  memset(c->value, 0, (size_t)((values + 1) * c->room) * 8);
  c->product = c->value + values * c->room;
  c->product[0] = 1;
  return 1;
}
static void release(residues *w, remainders *c) { free(w->matrix), free(w->power), free(w->inverse), free(c->value); }

/* The columns first to first + columns of the right side, whose wanted solutions are `values` many. *info as in
 * rm_exact_solve. */
static rm_status solve_columns(const integers *s, const rm_exact_system *system, int64_t first, int64_t columns,
                               int64_t values, int format, uint64_t *bits, int32_t *info, uint32_t *flags) {
  const int64_t n = s->n, k = s->k, needed = primes_for(s->bits), width = n + columns;
  const int64_t goal = values ? needed : 1; /* one shows that A is regular */
  residues w = {0};
  remainders c = {0};
  uint64_t *work = NULL;
  int ok = allocate(s, columns, values + 1, &w, &c);
  if (ok) ok = (work = rm_linalg_memory(2 * (c.room + 2), 8)) != NULL;
  int64_t good = 0, bad = 0, dependent = 0;
  uint64_t from = RM_LINALG_PRIMES_BELOW;
  while (ok && good < goal && (good > 0 || bad < needed)) {
    const rm_modulus m = rm_prime_below(from, 2);
    from = m.p;
    int64_t column = 0;
    load(s, &m, first, columns, &w);
    const uint64_t det = eliminate(&m, n, columns, &w, &column);
    if (det == 0) { /* it says nothing about solutions */
      bad++;
      dependent = column > dependent ? column : dependent;
      continue;
    }
    good++;
    const uint64_t inverse = inverse_of_product(&m, &c);
    join_value(&m, &c, 0, rm_mod_mul(&m, det, 1), inverse);
    int64_t v = 1;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < columns; j++)
        if (system->wanted[i * k + first + j])
          join_value(&m, &c, v++, rm_mod_mul(&m, rm_mod_mul(&m, det, w.matrix[i * width + n + j]), 1), inverse);
    join_product(&m, &c);
  }
  *info = ok && good == 0 ? (int32_t)dependent : 0;
  if (ok && good == goal) {
    const int negative = take_sign(&c, 0, work);
    int64_t v = 1;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < columns; j++)
        if (system->wanted[i * k + first + j]) {
          const int sign = negative != take_sign(&c, v, work);
          bits[i * k + first + j] =
              round_quotient(&c, c.value + v * c.room, c.value, sign, s->rhs[first + j] - s->col[i], format, work, flags);
          v++;
        }
  }
  release(&w, &c);
  free(work);
  return ok ? RM_OK : RM_ERR_MEMORY;
}

static int begin(integers *s, int64_t n, int64_t k, const double *a, const double *b) {
  *s = (integers){.n = n, .k = k, .a = a, .b = b};
  s->row = rm_linalg_memory(2 * n + k, sizeof *s->row);
  if (!s->row) return 0;
  s->col = s->row + n, s->rhs = s->col + n;
  set_scales(s);
  set_bits(s);
  return 1;
}

static int too_long(const integers *s) {
  const double n = (double)s->n;
  return (double)primes_for(s->bits) * (n * n * n / 3.0 + n * n * (double)s->k + 64.0 * n) > RM_LINALG_WORK;
}

rm_status rm_exact_solve(const rm_exact_system *system, int format, uint64_t *bits, int32_t *info, uint32_t *flags) {
  integers s;
  if (!begin(&s, system->n, system->k, system->a, system->b)) return RM_ERR_MEMORY;
  rm_status status = too_long(&s) ? RM_ERR_UNDECIDED : RM_OK;
  const int64_t limit = RM_LINALG_LIMBS / (primes_for(s.bits) + 2);
  *info = 0;
  for (int64_t first = 0; first < s.k && !status && !*info;) {
    int64_t columns = 0, values = 0;
    while (first + columns < s.k) { /* as many columns as there is memory for, at least one */
      int64_t more = 0;
      for (int64_t i = 0; i < s.n; i++) more += system->wanted[i * s.k + first + columns];
      if (columns && values + more > limit) break;
      values += more, columns++;
    }
    status = solve_columns(&s, system, first, columns, values, format, bits, info, flags);
    first += columns;
  }
  free(s.row);
  return status;
}

rm_status rm_exact_determinant(int64_t n, const double *a, rm_exact_number *det) {
  integers s;
  residues w = {0};
  remainders c = {0};
  *det = (rm_exact_number){0};
  if (!begin(&s, n, 0, a, NULL)) return RM_ERR_MEMORY;
  const int64_t needed = primes_for(s.bits);
  rm_status status = too_long(&s) ? RM_ERR_UNDECIDED : RM_OK;
  uint64_t *work = NULL;
  if (!status && !(allocate(&s, 0, 1, &w, &c) && (work = rm_linalg_memory(c.room, 8)) != NULL)) status = RM_ERR_MEMORY;
  uint64_t from = RM_LINALG_PRIMES_BELOW;
  for (int64_t i = 0; i < needed && !status; i++) {
    const rm_modulus m = rm_prime_below(from, 2);
    int64_t column;
    from = m.p;
    load(&s, &m, 0, 0, &w);
    const uint64_t d = eliminate(&m, n, 0, &w, &column);
    join_value(&m, &c, 0, rm_mod_mul(&m, d, 1), inverse_of_product(&m, &c));
    join_product(&m, &c);
  }
  if (!status) {
    det->negative = take_sign(&c, 0, work);
    memcpy(work, c.value, (size_t)c.room * 8);
    det->limbs = work, work = NULL;
    det->length = trimmed(det->limbs, c.room);
    for (int64_t i = 0; i < n; i++) det->e += s.row[i] + s.col[i];
  }
  release(&w, &c);
  free(work);
  free(s.row);
  return status;
}
