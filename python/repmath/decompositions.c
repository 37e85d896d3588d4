/* Rotations and reflections (decompositions.h). A product, a quotient, a root or a difference is one operation of binary64,
 * rounded to nearest, and nothing is contracted. */
#include "decompositions.h"

#include <math.h>
#include <repmath/repmath.h>
#include <string.h>

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

int rm_py_orthogonal_rows(const rm_py_sweep *sweep, int64_t n, int64_t m, double *columns, double *v, double *work) {
  rm_status status = RM_OK;
  const double limit = (double)m * 0x1p-51;
  double *const square = work; /* of each row, until it is turned */
  int moved = n > 1;
  for (int64_t i = 0; i < n; i++) square[i] = dot(m, columns + i * m, columns + i * m, &status);
  for (int k = 0; k < sweep->most && moved && status == RM_OK; k++) {
    moved = 0;
    for (int64_t i = 0; i < sweep->rounds * sweep->half; i++) {
      const int64_t p = sweep->pair[2 * i], q = sweep->pair[2 * i + 1];
      double *const x = columns + p * m, *const y = columns + q * m;
      const double xx = square[p], yy = square[q], xy = dot(m, x, y, &status);
      const double x_size = sqrt(xx), y_size = sqrt(yy);
      if (!(fabs(xy) > limit * (x_size * y_size) && x_size > sweep->least && y_size > sweep->least)) continue;
      const angle by = angle_of(yy - xx, xy);
      moved = 1;
      rotate(m, x, y, 1, &by);
      square[p] = dot(m, x, x, &status), square[q] = dot(m, y, y, &status);
      if (v) rotate(n, v + p * n, v + q * n, 1, &by);
    }
  }
  return status;
}

void rm_py_diagonal(const rm_py_sweep *sweep, int64_t n, double *a, double *v, double *work) {
  double greatest = 0.0;
  for (int64_t i = 0; i < n * n; i++) greatest = fabs(a[i]) > greatest ? fabs(a[i]) : greatest;
  const double limit = 0x1p-60 * greatest;
  angle *const angles = (angle *)(void *)work;
  double *const ends = work + 3 * sweep->half; /* of a pair: its new elements on the diagonal */
  int moved = n > 1;
  for (int k = 0; k < sweep->most && moved; k++) {
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

/* --- whole decompositions */

/* The exponent of the power of two that brings the largest of these numbers to [1/2, 1). */
static int scale_of(int64_t n, const double *a) {
  double greatest = 0.0;
  int exponent;
  for (int64_t i = 0; i < n; i++) greatest = fabs(a[i]) > greatest ? fabs(a[i]) : greatest;
  frexp(greatest, &exponent);
  return exponent;
}

static void identity(int64_t n, double *a) {
  memset(a, 0, (size_t)(n * n) * sizeof *a);
  for (int64_t i = 0; i < n; i++) a[i * (n + 1)] = 1.0;
}

/* The order in which numbers ascend, or descend; equal ones keep theirs. Its n^2/4 comparisons are
 * few beside the rotations. */
static void sort(int64_t n, const double *value, int descends, int64_t *order) {
  for (int64_t i = 0; i < n; i++) {
    int64_t at = i;
    for (; at > 0 && (descends ? value[order[at - 1]] < value[i] : value[order[at - 1]] > value[i]); at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
}

/* -1 where the first of the largest magnitudes of a row is negative, else 1. */
static double sign_of(int64_t n, const double *row) {
  int64_t largest = 0;
  for (int64_t i = 1; i < n; i++)
    if (fabs(row[i]) > fabs(row[largest])) largest = i;
  return row[largest] < 0.0 ? -1.0 : 1.0;
}

int64_t rm_py_eigh_numbers(int64_t n) { return 2 * n * n + 6 * n; }

void rm_py_eigh(const rm_py_sweep *sweep, int64_t n, const double *a, double *values, double *vectors, double *work) {
  double *const x = work, *const v = work + n * n, *const some = v + n * n;
  int64_t *const order = (int64_t *)(void *)(some + 5 * n);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) x[i * n + j] = x[j * n + i] = a[i * n + j];
  const int scale = scale_of(n * n, x);
  for (int64_t i = 0; i < n * n; i++) x[i] = ldexp(x[i], -scale);
  if (vectors) identity(n, v);
  rm_py_diagonal(sweep, n, x, vectors ? v : NULL, some);
  for (int64_t i = 0; i < n; i++) some[i] = x[i * (n + 1)];
  sort(n, some, 0, order);
  for (int64_t j = 0; j < n; j++) {
    const double *const row = v + order[j] * n;
    values[j] = ldexp(some[order[j]], scale);
    if (!vectors) continue;
    const double sign = sign_of(n, row);
    for (int64_t i = 0; i < n; i++) vectors[i * n + j] = row[i] * sign;
  }
}

/* The columns from number `known` on of Q of the first `known` rows of u, of m elements each, to the rows behind them. */
static rm_status complete(int64_t m, int64_t known, int64_t wanted, double *u, double *work) {
  const int64_t more = wanted - known;
  double *const factors = work, *const taus = factors + m * known, *const made = taus + known, *const some = made + m * more;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < known; j++) factors[i * known + j] = u[j * m + i];
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < more; j++) made[i * more + j] = i == known + j ? 1.0 : 0.0;
  rm_status status = RM_OK;
  if (known > 0) {
    status |= rm_py_reflectors(m, known, factors, taus, some);
    status |= rm_py_reflected(m, known, factors, known, taus, 0, more, made, some);
  }
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < more; j++) u[(known + j) * m + i] = made[i * more + j];
  return status;
}

int64_t rm_py_svd_numbers(int64_t m, int64_t n, int64_t wanted) {
  return m * n + n * n + 4 * n + 2 * m * wanted + m + wanted;
}

int rm_py_svd(const rm_py_sweep *sweep, int64_t m, int64_t n, const rm_py_matrix *a, double *s, int64_t wanted,
              const rm_py_matrix *u, const rm_py_matrix *v, double *work) {
  double *const columns = work, *const turned = columns + m * n, *const sizes = turned + n * n, *const squares = sizes + n;
  int64_t *const order = (int64_t *)(void *)(squares + n);
  double *const left = squares + 2 * n, *const some = left + m * wanted;
  rm_status status = RM_OK;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++) columns[j * m + i] = a->at[i * a->row + j * a->column];
  const int scale = scale_of(m * n, columns);
  for (int64_t i = 0; i < m * n; i++) columns[i] = ldexp(columns[i], -scale);
  if (wanted) identity(n, turned);
  status |= rm_py_orthogonal_rows(sweep, n, m, columns, wanted ? turned : NULL, squares);
  for (int64_t j = 0; j < n; j++) status |= rm_norm(RM_FORMAT_F64, m, columns + j * m, 8, RM_FORMAT_F64, sizes + j);
  sort(n, sizes, 1, order);
  int64_t known = 0;
  for (int64_t j = 0; j < n; j++) {
    const double size = sizes[order[j]];
    s[j] = ldexp(size, scale);
    known += size > sweep->least;
    for (int64_t i = 0; wanted && i < m; i++) left[j * m + i] = columns[order[j] * m + i] / (size > 0.0 ? size : 1.0);
  }
  if (known < wanted) status |= complete(m, known, wanted, left, some);
  for (int64_t j = 0; j < wanted; j++) {
    double sign = 1.0;
    if (j < n) {
      const double *const row = turned + order[j] * n;
      sign = sign_of(n, row);
      for (int64_t i = 0; i < n; i++) v->at[i * v->row + j * v->column] = row[i] * sign;
    }
    for (int64_t i = 0; i < m; i++) u->at[i * u->row + j * u->column] = j < n ? left[j * m + i] * sign : left[j * m + i];
  }
  return status;
}

int rm_py_qr(int64_t m, int64_t n, double *factors, int64_t columns, double *q, double *r, double *taus, double *work) {
  const int64_t count = m < n ? m : n;
  rm_status status = rm_py_reflectors(m, n, factors, taus, work);
  for (int64_t i = 0; i < columns; i++)
    for (int64_t j = 0; j < n; j++) r[i * n + j] = j < i ? 0.0 : factors[i * n + j];
  for (int64_t i = 0; q && i < m; i++)
    for (int64_t j = 0; j < columns; j++) q[i * columns + j] = i == j ? 1.0 : 0.0;
  if (q) status |= rm_py_reflected(m, n, factors, count, taus, 0, columns, q, work);
  return status;
}
