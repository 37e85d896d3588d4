/* Rotations and reflections (decompositions.h). A product, a quotient, a root or a difference is one operation of binary64,
 * rounded to nearest, and nothing is contracted. */
#include "decompositions.h"

#include <math.h>
#include <repmath/repmath.h>

static double dot(int64_t n, const double *x, const double *y, rm_status *status) {
  double made = 0.0;
  *status |= rm_dot_f64(n, x, 8, y, 8, &made);
  return made;
}

typedef struct {
  double t, c, s; /* tangent, cosine, sine */
} angle;

/* The rotation that makes `off` 0. */
static angle angle_of(double difference, double off) {
  const double cot = difference / (2.0 * off);
  const double t = copysign(1.0, cot) / (fabs(cot) + sqrt(cot * cot + 1.0)), c = 1.0 / sqrt(t * t + 1.0);
  return (angle){t, c, t * c};
}

static void rotate(int64_t n, double *x, double *y, ptrdiff_t step, const angle *by) {
  for (int64_t i = 0; i < n; i++) {
    const double first = x[i * step], second = y[i * step];
    x[i * step] = by->c * first - by->s * second;
    y[i * step] = by->s * first + by->c * second;
  }
}

int rm_py_orthogonal_rows(const rm_py_sweep *sweep, int sweeps, double least, int64_t n, int64_t m, double *columns,
                          double *v) {
  rm_status status = RM_OK;
  const double limit = (double)m * 0x1p-51;
  int moved = n > 1;
  for (int k = 0; k < sweeps && moved && status == RM_OK; k++) {
    moved = 0;
    for (int64_t i = 0; i < sweep->rounds * sweep->half; i++) {
      const int64_t p = sweep->pair[2 * i], q = sweep->pair[2 * i + 1];
      double *const x = columns + p * m, *const y = columns + q * m;
      const double xx = dot(m, x, x, &status), yy = dot(m, y, y, &status), xy = dot(m, x, y, &status);
      const double x_size = sqrt(xx), y_size = sqrt(yy);
      if (!(fabs(xy) > limit * (x_size * y_size) && x_size > least && y_size > least)) continue;
      const angle by = angle_of(yy - xx, xy);
      moved = 1;
      rotate(m, x, y, 1, &by);
      if (v) rotate(n, v + p * n, v + q * n, 1, &by);
    }
  }
  return status;
}

void rm_py_diagonal(const rm_py_sweep *sweep, int sweeps, int64_t n, double *a, double *v, double *work) {
  double greatest = 0.0;
  for (int64_t i = 0; i < n * n; i++) greatest = fabs(a[i]) > greatest ? fabs(a[i]) : greatest;
  const double limit = 0x1p-60 * greatest;
  angle *const angles = (angle *)(void *)work;
  double *const ends = work + 3 * sweep->half; /* of a pair: its new elements on the diagonal */
  int moved = n > 1;
  for (int k = 0; k < sweeps && moved; k++) {
    moved = 0;
    for (int64_t round = 0; round < sweep->rounds; round++) {
      const int64_t *const pair = sweep->pair + 2 * round * sweep->half;
      int any = 0;
      for (int64_t i = 0; i < sweep->half; i++) {
        const int64_t p = pair[2 * i], q = pair[2 * i + 1];
        const double off = a[p * n + q], first = a[p * n + p], second = a[q * n + q];
        angles[i].c = 0.0; /* not turned: a cosine is not 0 */
        if (!(fabs(off) > limit)) continue;
        any = 1;
        angles[i] = angle_of(second - first, off);
        const double change = angles[i].t * off;
        ends[2 * i] = first - change, ends[2 * i + 1] = second + change;
      }
      if (!any) continue;
      moved = 1;
      for (int64_t i = 0; i < sweep->half; i++)
        if (angles[i].c != 0.0) rotate(n, a + pair[2 * i] * n, a + pair[2 * i + 1] * n, 1, &angles[i]);
      for (int64_t i = 0; i < sweep->half; i++)
        if (angles[i].c != 0.0) rotate(n, a + pair[2 * i], a + pair[2 * i + 1], n, &angles[i]);
      for (int64_t i = 0; i < n; i++) /* the triangle below the diagonal counts */
        for (int64_t j = 0; j < i; j++) a[j * n + i] = a[i * n + j];
      for (int64_t i = 0; i < sweep->half; i++) {
        const int64_t p = pair[2 * i], q = pair[2 * i + 1];
        if (angles[i].c == 0.0) continue;
        a[p * n + p] = ends[2 * i], a[q * n + q] = ends[2 * i + 1];
        a[p * n + q] = a[q * n + p] = 0.0;
        if (v) rotate(n, v + p * n, v + q * n, 1, &angles[i]);
      }
    }
  }
}

/* c - v (tau (v' c)): m rows of n elements, `step` from row to row. */
static rm_status reflect(int64_t m, int64_t n, const double *v, double tau, double *c, int64_t step, double *row) {
  rm_status status = RM_OK;
  if (n == 0) return status;
  if (n < 8)
    for (int64_t j = 0; j < n; j++) status |= rm_dot_f64(m, v, 8, c + j, 8 * step, row + j);
  else
    status = rm_matmul_batched(RM_FORMAT_F64, RM_FORMAT_F64, 1, 1, n, m, v, 0, 8 * m, 8, c, 0, 8 * step, 8, NULL, 0, 0, row,
                               0, 8 * n, 8);
  for (int64_t j = 0; j < n; j++) row[j] *= tau;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) c[i * step + j] -= v[i] * row[j];
  return status;
}

int rm_py_reflectors(int64_t m, int64_t n, double *a, double *taus, double *work) {
  rm_status status = RM_OK;
  double *const v = work, *const row = work + m;
  for (int64_t k = 0; k < (m < n ? m : n); k++) {
    double *const at = a + k * n + k;
    const double head = *at;
    double size = 0.0, beta = head, divisor = 1.0;
    int turns = 0;
    for (int64_t i = 1; i < m - k; i++) turns |= at[i * n] != 0.0;
    taus[k] = 0.0;
    if (turns) {
      status |= rm_norm(RM_FORMAT_F64, m - k, at, 8 * n, RM_FORMAT_F64, &size);
      beta = -copysign(size, head), divisor = head - beta;
      taus[k] = (beta - head) / beta;
    }
    v[0] = 1.0;
    for (int64_t i = 1; i < m - k; i++) v[i] = at[i * n] / divisor;
    status |= reflect(m - k, n - k - 1, v, taus[k], at + 1, n, row);
    *at = beta;
    for (int64_t i = 1; i < m - k; i++) at[i * n] = v[i];
  }
  return status;
}

int rm_py_reflected(int64_t m, int64_t n, const double *a, int64_t count, const double *taus, int transposed, int64_t k,
                    double *c, double *work) {
  rm_status status = RM_OK;
  double *const v = work, *const row = work + m;
  for (int64_t i = 0; i < count; i++) {
    const int64_t j = transposed ? i : count - 1 - i;
    v[0] = 1.0;
    for (int64_t r = 1; r < m - j; r++) v[r] = a[(j + r) * n + j];
    status |= reflect(m - j, k, v, taus[j], c + j * k, k, row);
  }
  return status;
}
