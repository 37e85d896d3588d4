"""The orthogonal decompositions of docs/spec.md, section 7a, once more, element by element: Python's numbers and rational sums."""

import math
from fractions import Fraction


def total(x, y):
    return float(sum((Fraction(a) * Fraction(b) for a, b in zip(x, y, strict=True)), Fraction(0)))


def length(x):
    square = sum((Fraction(a) ** 2 for a in x), Fraction(0))
    root = math.isqrt(square.numerator * 4**400 // square.denominator)  # 400 bits behind the point
    return float(Fraction(root, 2**400))


def sign_of(x, like):
    return math.copysign(x, like)


def reflect(a, v, tau, top):
    """Of the rows from `top` on, each column."""
    for j in range(len(a[0])):
        w = total(v, [a[top + i][j] for i in range(len(v))]) * tau
        for i in range(len(v)):
            a[top + i][j] -= v[i] * w


def plain_reflectors(a):
    m, n = len(a), len(a[0])
    a, taus = [list(row) for row in a], []
    for k in range(min(m, n)):
        column = [a[i][k] for i in range(k, m)]
        if not any(column[1:]):
            taus.append(0.0)
            continue
        beta = -sign_of(length(column), column[0])
        v = [1.0] + [x / (column[0] - beta) for x in column[1:]]
        taus.append((beta - column[0]) / beta)
        right = [row[k + 1 :] for row in a]
        if n > k + 1:
            reflect(right, v, taus[k], k)
        for i in range(m):
            a[i][k + 1 :] = right[i]
        a[k][k] = beta
        for i in range(k + 1, m):
            a[i][k] = v[i - k]
    return a, taus


def plain_q(factors, taus, columns):
    m = len(factors)
    q = [[float(i == j) for j in range(columns)] for i in range(m)]
    for k in reversed(range(len(taus))):
        reflect(q, [1.0] + [factors[i][k] for i in range(k + 1, m)], taus[k], k)
    return q


def tournament(n):
    """Pairs of a sweep, in order: the first stays, the others move on by one place a round."""
    circle = list(range(n + n % 2))
    for _ in range(len(circle) - 1):
        for i in range(len(circle) // 2):
            p, q = sorted((circle[i], circle[-1 - i]))
            if q < n:
                yield p, q, i == 0
        circle = [circle[0], circle[-1], *circle[1:-1]]


def angle(difference, off):
    cot = difference / (2 * off)
    t = sign_of(1.0, cot) / (abs(cot) + math.sqrt(cot * cot + 1))
    c = 1 / math.sqrt(t * t + 1)
    return t, c, t * c


def scaled(a):
    e = math.frexp(max(abs(x) for row in a for x in row))[1]
    return [[math.ldexp(x, -e) for x in row] for row in a], e


def turned(x, y, c, s):
    return [c * a - s * b for a, b in zip(x, y, strict=True)], [s * a + c * b for a, b in zip(x, y, strict=True)]


def transposed(a):
    return [list(row) for row in zip(*a, strict=True)]


def rounds_of(n):
    found = []
    for p, q, first in tournament(n):
        if first or not found:
            found.append([])
        found[-1].append((p, q))
    # where n is odd the first pair of a round has one that rests
    if n % 2:
        pairs = [pair for group in found for pair in group]
        size = (n - 1) // 2
        found = [pairs[i : i + size] for i in range(0, len(pairs), size)]
    return found


def plain_eigh(a):
    """From the lower triangle; the pairs of a round see the matrix as it was before the round, and rows are turned before columns."""
    n = len(a)
    a, e = scaled([[a[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)])
    v = [[float(i == j) for j in range(n)] for i in range(n)]
    limit = 2.0**-60 * max(abs(x) for row in a for x in row)
    for _ in range(64 if n > 1 else 0):
        moved = False
        for pairs in rounds_of(n):
            found = [(p, q, a[p][p], a[q][q], a[p][q]) for p, q in pairs if abs(a[p][q]) > limit]
            found = [(p, q, x, y, off, *angle(y - x, off)) for p, q, x, y, off in found]
            moved = moved or bool(found)
            for p, q, _, _, _, _, c, s in found:
                a[p], a[q] = turned(a[p], a[q], c, s)
                v[p], v[q] = turned(v[p], v[q], c, s)
            b = transposed(a)
            for p, q, _, _, _, _, c, s in found:
                b[p], b[q] = turned(b[p], b[q], c, s)
            b = transposed(b)
            a = [[b[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
            for p, q, x, y, off, t, _, _ in found:
                a[p][p], a[q][q], a[p][q], a[q][p] = x - t * off, y + t * off, 0.0, 0.0
        if not moved:
            break
    order = sorted(range(n), key=lambda i: a[i][i])
    return [math.ldexp(a[i][i], e) for i in order], transposed([positive(v[i])[0] for i in order])


def positive(v, *others):
    flip = v[max(range(len(v)), key=lambda i: abs(v[i]))] < 0
    return [[-x for x in w] if flip else list(w) for w in (v, *others)]


def plain_svd(a):
    m, n = len(a), len(a[0])
    if m < n:
        v, s, u = plain_svd(transposed(a))
        return u, s, v
    a, e = scaled(a)
    columns, v = transposed(a), [[float(i == j) for j in range(n)] for i in range(n)]
    for _ in range(64 if n > 1 else 0):
        moved = False
        for p, q in (pair for pairs in rounds_of(n) for pair in pairs):
            x, y = columns[p], columns[q]
            xx, yy, xy = total(x, x), total(y, y), total(x, y)
            x_size, y_size = math.sqrt(xx), math.sqrt(yy)
            if abs(xy) > m * 2.0**-51 * (x_size * y_size) and min(x_size, y_size) > 2.0**-80:
                moved = True
                _, c, s = angle(yy - xx, xy)
                columns[p], columns[q] = turned(x, y, c, s)
                v[p], v[q] = turned(v[p], v[q], c, s)
        if not moved:
            break
    sizes = [length(x) for x in columns]
    order = sorted(range(n), key=lambda i: -sizes[i])
    pairs = [positive(v[i], [x / sizes[i] for x in columns[i]]) for i in order]
    return transposed([u for _, u in pairs]), [math.ldexp(sizes[i], e) for i in order], transposed([w for w, _ in pairs])


def plain_exponential(a):
    n = len(a)
    s = max(math.frexp(max(float(sum(map(Fraction, map(abs, column)))) for column in zip(*a, strict=True)))[1] + 1, 0)
    a = [[math.ldexp(x, -s) for x in row] for row in a]
    made = [[float(i == j) for j in range(n)] for i in range(n)]

    def product(x, y):
        return [[total(row, column) for column in zip(*y, strict=True)] for row in x]

    for k in range(18, 0, -1):
        made = [[x / k + (i == j) for j, x in enumerate(row)] for i, row in enumerate(product(a, made))]
    for _ in range(s):
        made = product(made, made)
    return made
