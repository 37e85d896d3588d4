/* Radices and roots of unity of a length, and a cache of them. */
#include "kernels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../crlibm/sin/sin_mp.h"

enum { LIMBS = 3, CACHED = 32, CACHED_BYTES = 1 << 25 };

/* a 2^(-64 LIMBS) in two parts, for a < 2: within 2^-106 of it, relatively, if a >= 2^-64. */
static void in_two_parts(double part[2], const uint64_t *a) {
  int64_t e;
  if (rm_mp_length(a, LIMBS) == 0) {
    part[0] = part[1] = 0.0;
    return;
  }
  const rm_u128 m = rm_mp_sticky(a, LIMBS, &e); /* >= 2^127 */
  const double high =
      (double)(uint64_t)(m >> 75) * 0x1p75; /* 53 bits; the rest is below a unit of them, which two-sum makes half */
  const rm_u128 rest = m - ((rm_u128)(uint64_t)(m >> 75) << 75);
  const double low = (double)(uint64_t)(rest >> 11) * 0x1p11; /* 64 bits, rounded to 53 */
  double error;
  const double sum = rm_two_sum(high, low, &error);
  const double scale = rm_pow2((int)e); /* -320 < e < 0 */
  part[0] = sum * scale, part[1] = error * scale;
}

/* With q the integer nearest to 4 m/n, the angle is (q + a/n) pi/2 with |a| <= n/2. phi = |a|/n pi/2 <= pi/4 is within two
 * units of 3 limbs, so its square is within those that rm_sin_mp_series asks for; cosine and sine are within some 60 units,
 * 2^-186, and the sine is at least 1/n: the sum is below 2^-106 of it for n < 2^60, to which in_two_parts adds as much. */
void rm_fft_root(double root[4], int64_t m, int64_t n) {
  const int64_t q = (8 * m + n) / (2 * n), a = 4 * m - q * n;
  const uint64_t size = (uint64_t)(a < 0 ? -a : a);
  double c[2] = {1.0, 0.0}, s[2] = {0.0, 0.0};
  if (size) {
    uint64_t phi[LIMBS + 2], u[LIMBS + 1], v[LIMBS + 1];
    rm_mp_mul_small(phi, rm_sin_pi_2 + (17 - LIMBS), size, LIMBS);
    rm_mp_div_small(phi, phi, (uint64_t)n, LIMBS);
    rm_mp_mul(u, phi, phi, LIMBS);
    rm_sin_mp_series(v, u, 0, LIMBS);
    in_two_parts(c, v);
    rm_sin_mp_series(v, u, 1, LIMBS);
    rm_mp_mul(v, v, phi, LIMBS);
    in_two_parts(s, v);
    if (a < 0) s[0] = -s[0], s[1] = -s[1];
  }
  for (int i = 0; i < 2; i++) {
    root[i] = (q & 3) == 0 ? c[i] : (q & 3) == 1 ? 0.0 - s[i] : (q & 3) == 2 ? 0.0 - c[i] : s[i];
    root[2 + i] = (q & 3) == 0 ? s[i] : (q & 3) == 1 ? c[i] : (q & 3) == 2 ? 0.0 - s[i] : 0.0 - c[i];
  }
}

/* The product of two double-double numbers, within 2^-103 of it, relatively. */
static void product(double r[2], const double *a, const double *b) {
  const double p = a[0] * b[0], e = rm_two_prod_error(a[0], b[0], p) + (a[0] * b[1] + a[1] * b[0]);
  r[0] = rm_two_sum(p, e, r + 1);
}
static void sum(double r[2], const double *a, const double *b, double sign) {
  double e;
  const double s = rm_two_sum(a[0], sign * b[0], &e);
  r[0] = rm_two_sum(s, e + (a[1] + sign * b[1]), r + 1);
}

/* Roots e^(-2 pi i m/n) of all m, number m at root + 4 m: products of a coarse and a fine one. Each is within 2^-101 of its
 * absolute value: four products and two sums, each within 2^-103, of factors that are as near. Quarters of a turn are
 * exact. */
static int all_roots(double *root, int64_t n) {
  int64_t fine = 1;
  while (fine * fine < n) fine++;
  const int64_t coarse = (n + fine - 1) / fine;
  double *const part = malloc((size_t)(fine + coarse) * 4 * sizeof(double));
  if (!part) return 0;
  for (int64_t i = 0; i < fine; i++) rm_fft_root(part + 4 * i, i % n, n);
  for (int64_t i = 0; i < coarse; i++) rm_fft_root(part + 4 * (fine + i), i * fine, n);
  for (int64_t m = 0; m < n; m++) {
    double *const r = root + 4 * m;
    const double *a = part + 4 * (m % fine), *b = part + 4 * (fine + m / fine);
    if (m % fine == 0 || m < fine) {
      memcpy(r, m < fine ? a : b, 4 * sizeof(double));
    } else if (4 * m % n == 0) {
      rm_fft_root(r, m, n);
    } else {
      double cc[2], ss[2], cs[2], sc[2];
      product(cc, a, b), product(ss, a + 2, b + 2), product(cs, a, b + 2), product(sc, a + 2, b);
      sum(r, cc, ss, -1.0);
      sum(r + 2, cs, sc, 1.0);
    }
    r[2] = 0.0 - r[2], r[3] = 0.0 - r[3];
  }
  free(part);
  return 1;
}

/* Number i of an array with planes. */
static void put(double *to, int64_t count, int64_t i, const double root[4], int tier) {
  to[i] = root[0];
  if (tier == RM_FFT_B64) {
    to[count + i] = root[2];
  } else {
    for (int c = 1; c < 4; c++) to[c * count + i] = root[c];
  }
}

/* Radices: 4 as often as possible, then 2, then odd primes. */
static int64_t next_radix(int64_t n) {
  if (n % 4 == 0) return 4;
  if (n % 2 == 0) return 2;
  for (int64_t r = 3; r <= n / r; r += 2)
    if (n % r == 0) return r;
  return n;
}

/* The least power of two that is not below n. */
static int64_t length_above(int64_t n) {
  int64_t length = 1;
  while (length < n) length *= 2;
  return length;
}

/* The errors of a pass, in units (kernels.h derives them). low: how large the low parts of double-double are. chirp: NULL for
 * a pass without one. less: how much less they are of elements, where no pass follows. */
static double loss_of(int64_t r, int tier, int last, double *low, const rm_fft_chirp *chirp, double *less) {
  const double h = (double)(r - 1) / 2.0, root = 1.42 * __builtin_sqrt((double)r);
  const double passes = chirp ? chirp->plan->loss : 0.0;
  if (tier == RM_FFT_B64) {
    if (chirp) return 1.01 * (chirp->largest * (2.0 * passes + 3.5) + 6.4) + (last ? 0.0 : 3.2);
    const double chains = 0.6371 * 0.6371 * (h + 2.0) * (h + 2.0) * (double)r;
    return (r == 2 ? 1.0 : r == 4 ? 2.1 : 2.01 + __builtin_sqrt(h * h + chains)) + (last ? 0.0 : 3.2);
  }
  double loss = r == 2 ? 2.0 * *low + 1.01 : r == 4 ? 4.0 * *low + 4.2 : root * (9.0 * *low + 3.0 * h + 23.0);
  if (chirp) {
    const double filter = 8.0 * passes * __builtin_sqrt((double)chirp->n), elements = 12.0 * passes;
    const double sum = 7.1 * *low + 46.5 + chirp->largest * (16.0 * passes + filter + 22.0) + 54.0;
    loss = 1.01 * sum;
    *less = 1.001 * 1.01 * chirp->largest * (filter - elements) / 8.0;
  }
  *low = r == 2 ? *low + 1.01 : r == 4 ? *low + 2.02 : 3.1 * root;
  if (!last) loss += 7.1 * *low + 46.5;
  *low += 4.3;
  return 1.001 * loss / 8.0;
}

double rm_fft_loss_about(int64_t n, int *passes) {
  double loss = 0.0, low = 1.01;
  for (; n > 1; ++*passes) {
    const int64_t r = next_radix(n);
    int of_chirp = 0;
    n /= r;
    if (r > RM_FFT_DIRECT) loss += 2.5 * (2.0 * rm_fft_loss_about(length_above(2 * r), &of_chirp) + 3.5) + 9.6;
    else loss += loss_of(r, RM_FFT_B64, n == 1, &low, NULL, &low);
  }
  return loss;
}

/* The chirp of a radix. The filter is made in double-double, each number within what its transform's bound says. */
static int make_chirp(rm_fft_chirp *chirp, double **memory, int64_t r, int tier) {
  const int64_t n = length_above(2 * r), plane = n + RM_FFT_PAD;
  const rm_fft_plan *const plan = rm_fft_plan_get(n, RM_FFT_DD);
  double *const root = malloc((size_t)r * 8 * sizeof(double)), *const work = calloc((size_t)plane * 8, sizeof(double));
  double *const own = *memory = calloc((size_t)(4 * (r + n) + RM_FFT_PAD), sizeof(double));
  int made = 0;
  if (plan && root && work && own && all_roots(root, 2 * r)) {
    const rm_fft_work all = {1, &plan, n, 1, plane, 2, 0, {work, work + 4 * plane}, NULL};
    const int planes = tier == RM_FFT_B64 ? 2 : 4;
    double *const filter = own + planes * r;
    double most = 0.0;
    for (int64_t j = 0; j < r; j++) {
      const double *const c = root + 4 * (int64_t)((rm_u128)(uint64_t)j * (uint64_t)j % (uint64_t)(2 * r));
      put(own, r, j, c, tier);
      for (int i = 0; i < 4; i++) work[i * plane + j] = work[i * plane + (n - j) % n] = i < 2 ? c[i] : -c[i];
    }
    const double *const v = all.buffer[rm_fft_kernels()->transform[RM_FFT_DD](&all)];
    for (int64_t k = 0; k < n; k++) {
      double number[4];
      for (int i = 0; i < 4; i++) number[i] = v[i * plane + k] / (double)n;
      const double square = v[k] * v[k] + v[2 * plane + k] * v[2 * plane + k];
      put(filter, n, k, number, tier);
      most = square > most ? square : most;
    }
    chirp->n = n, chirp->roots = own, chirp->filter = filter;
    chirp->largest = __builtin_sqrt(most / (double)r) * (1.0 + 0x1p-20);
    chirp->plan = rm_fft_plan_get(n, tier);
    made = chirp->plan != NULL;
  }
  rm_fft_plan_release(plan);
  free(root);
  free(work);
  return made;
}

static void destroy(rm_fft_plan *plan) {
  if (!plan) return;
  for (int i = 0; i < RM_FFT_LARGE; i++) {
    rm_fft_plan_release(plan->chirp[i].plan);
    free(plan->of_chirp[i]);
  }
  free(plan->memory);
  free(plan);
}

static rm_fft_plan *make(int64_t n, int tier) {
  const int planes = tier == RM_FFT_B64 ? 2 : 4;
  rm_fft_plan *plan = calloc(1, sizeof *plan);
  double *root = n > INT64_C(1) << 40 ? NULL : malloc((size_t)n * 4 * sizeof(double));
  double low = 1.01;
  int64_t count = 0;
  int chirps = 0;
  if (!plan || !root || !all_roots(root, n)) goto failed;
  plan->n = n, plan->tier = tier;
  for (int64_t rest = n; rest > 1;) {
    rm_fft_pass *const p = plan->pass + plan->passes++;
    p->r = next_radix(rest), p->m = rest / p->r;
    count += (p->r - 1) * p->m + p->r;
    rest = p->m;
    if (p->r > RM_FFT_DIRECT) {
      if (!make_chirp(plan->chirp + chirps, plan->of_chirp + chirps, p->r, tier)) goto failed;
      p->chirp = plan->chirp + chirps++;
      plan->bytes += 4 * (p->r + p->chirp->n) * (int64_t)sizeof(double);
    }
    plan->less = 0.0;
    plan->loss += loss_of(p->r, tier, rest == 1, &low, p->chirp, &plan->less);
  }
  plan->bytes += (count * planes + 1) * (int64_t)sizeof(double);
  plan->memory = malloc((size_t)(count * planes + 1) * sizeof(double));
  if (!plan->memory) goto failed;
  double *at = plan->memory;
  for (int i = 0; i < plan->passes; i++) {
    rm_fft_pass *const pass = plan->pass + i;
    const int64_t r = pass->r, m = pass->m, step = n / (r * m), numbers = (r - 1) * m;
    pass->twiddles = at;
    for (int64_t k = 1; k < r; k++)
      for (int64_t p = 0; p < m; p++) put(at, numbers, (k - 1) * m + p, root + 4 * (p * k * step), tier);
    at += planes * numbers;
    pass->constants = at;
    for (int64_t j = 0; j < r; j++) {
      double constant[4];
      rm_fft_root(constant, j, r);
      put(at, r, j, constant, tier);
    }
    at += planes * r;
  }
  free(root);
  return plan;
failed:
  free(root);
  destroy(plan);
  return NULL;
}

/* The plans that were asked for last, of which those without users may be dropped. Plans of more than CACHED_BYTES are never
 * kept. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rm_fft_plan *cache[CACHED]; /* the last used first */

/* A thread that has the lock while another forks does not exist in the child: so whoever forks has the lock himself. */
#if defined(_WIN32) /* no process is forked there */
static void watch_forks(void) {}
#else
static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void watch_forks(void) { (void)pthread_atfork(before_fork, after_fork, after_fork); }
#endif

static rm_fft_plan *find(int64_t n, int tier) {
  for (int i = 0; i < CACHED; i++) {
    rm_fft_plan *const plan = cache[i];
    if (!plan || plan->n != n || plan->tier != tier) continue;
    memmove(cache + 1, cache, (size_t)i * sizeof *cache);
    cache[0] = plan;
    plan->users++;
    return plan;
  }
  return NULL;
}

const rm_fft_plan *rm_fft_plan_get(int64_t n, int tier) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, watch_forks);
  pthread_mutex_lock(&lock);
  rm_fft_plan *plan = find(n, tier);
  pthread_mutex_unlock(&lock);
  if (plan) return plan;
  rm_fft_plan *const made = make(n, tier);
  if (!made) return NULL;
  made->users = 1;
  if (made->bytes > CACHED_BYTES) return made;
  pthread_mutex_lock(&lock);
  plan = find(n, tier); /* another thread may have been faster */
  rm_fft_plan *drop = NULL;
  if (plan) {
    drop = made;
  } else {
    int place = CACHED - 1;
    while (place > 0 && cache[place] && cache[place]->users) place--;
    if (!cache[place] || !cache[place]->users) {
      drop = cache[place];
      memmove(cache + 1, cache, (size_t)place * sizeof *cache);
      cache[0] = made;
      made->cached = 1;
    }
    plan = made;
  }
  pthread_mutex_unlock(&lock);
  if (drop) destroy(drop);
  return plan;
}

void rm_fft_plan_release(const rm_fft_plan *plan) {
  if (!plan) return;
  pthread_mutex_lock(&lock);
  rm_fft_plan *const own = (rm_fft_plan *)plan;
  const int unused = --own->users == 0 && !own->cached;
  pthread_mutex_unlock(&lock);
  if (unused) destroy(own);
}
