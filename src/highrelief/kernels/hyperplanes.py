"""How far samples are from the hyperplanes through their nearest neighbours (Vincent and Bengio 2002).

For one sample x and one class: who is among the k nearest (:func:`_nearest`), with which share u of a copy
(:func:`_shares`); then, with N̄ = Σ u_i N_i / Σ u_i, columns v_i = √u_i·(N_i − N̄) and r = x − N̄,

    ‖r − Vα‖,  α = (VᵀV + λ·Id)⁻¹ Vᵀr.

Reflections turn V into a small triangle R and r into (c, t), where t is what no combination of the columns
reaches. Rotations then make the rows of R orthogonal, with lengths s_i, the singular values of V. Hence

    ‖r − Vα‖² = ‖t‖² + Σ_i (λ/(s_i² + λ)·c_i)²,

sums of squares only: VᵀV, which is always singular and has the square of V's condition, is never formed.
"""

import numpy as np

from .jit import kernel, summing_kernel, wide_vectors
from .shares import share_equally

_EPS = float(np.finfo(np.float64).eps)
#: Sweeps over all pairs of rows; what is left shrinks quadratically, and eight are many.
_MOST_SWEEPS = 40


@kernel
def _sink(values, rows, root, n):
    """Let the value at ``root`` of a heap, the largest first, sink to its place among n; rows go along."""
    value, row = values[root], rows[root]
    while 2 * root + 1 < n:
        child = 2 * root + 1
        if child + 1 < n and values[child + 1] > values[child]:
            child += 1
        if values[child] <= value:
            break
        values[root], rows[root] = values[child], rows[child]
        root = child
    values[root], rows[root] = value, row


@kernel
def _rise(values, rows, place):
    """Let the value at ``place`` of a heap rise to its place; rows go along."""
    value, row = values[place], rows[place]
    while place > 0 and values[(place - 1) // 2] < value:
        parent = (place - 1) // 2
        values[place], rows[place] = values[parent], rows[parent]
        place = parent
    values[place], rows[place] = value, row


@kernel
def _kth(products, squares, square, a, b, copies, k, values, rows):
    """The smallest of the squared distances to rows a … b up to which there are k copies; ∞ for fewer.

    ``values`` and ``rows`` are room for a heap of the nearest so far.
    """
    n, held = 0, 0.0
    enough = k * (1.0 - 1e-9)
    # A sample counts k copies at most: a heavy one must not absorb the others in the running sum.
    for i in range(a, b):
        d = square + squares[i] - 2.0 * products[i]
        if held >= enough and d >= values[0]:
            continue
        values[n], rows[n] = d, i
        _rise(values, rows, n)
        n += 1
        held += min(copies[i], k)
        while n > 1 and held - min(copies[rows[0]], k) >= enough:
            held -= min(copies[rows[0]], k)
            n -= 1
            values[0], rows[0] = values[n], rows[n]
            _sink(values, rows, 0, n)
    return values[0] if held >= enough else np.inf


@summing_kernel
def _squared_distance(x, other):
    wide_vectors()
    total = 0.0
    for j in range(x.shape[0]):
        t = x[j] - other[j]
        total += t * t
    return total


@kernel
def _candidates(products, squares, square, a, b, kth, zone, rows):
    """Write rows whose squared distance may be among the k smallest, those that surely are first.

    Returns the number of sure ones, and of all.
    """
    n_sure, n = 0, 0
    for i in range(a, b):
        d = square + squares[i] - 2.0 * products[i]
        if d > kth + zone:
            continue
        rows[n] = i
        if d < kth - zone:
            rows[n], rows[n_sure] = rows[n_sure], i
            n_sure += 1
        n += 1
    return n_sure, n


@kernel
def _shares(x, X, rows, n_sure, n, copies, k, tolerance, of, distances, shares):
    """Let candidates in by their exact distances while k copies last; returns how many copies there are."""
    total, room = 0.0, k
    for t in range(n):
        of[t] = copies[rows[t]]
        shares[t] = of[t]
        total += of[t]
        if t < n_sure:
            room -= of[t]
    if total <= k * (1.0 + 1e-9):
        return total
    for t in range(n_sure, n):
        distances[t] = np.sqrt(_squared_distance(x, X[rows[t]]))
    share_equally(distances[n_sure:n], of[n_sure:n], room, tolerance, shares[n_sure:n])
    return k


@kernel
def _equal(a, b):
    j = 0
    while j < a.shape[0] and a[j] == b[j]:
        j += 1
    return j == a.shape[0]


@kernel
def _merge_copies(X, rows, shares, n):
    """Put together what equal rows share, and leave out what shares nothing; returns the number that is left.

    Ties can bring any number of neighbours, but hardly of different ones.
    """
    n_in = 0
    for t in range(n):
        if shares[t] == 0.0:
            continue
        place = 0
        while place < n_in and not _equal(X[rows[place]], X[rows[t]]):
            place += 1
        share = shares[t]
        if place == n_in:
            rows[n_in], shares[n_in] = rows[t], 0.0
            n_in += 1
        shares[place] += share
    return n_in


@kernel
def _spread(x, X, rows, shares, n, total, V, mean):
    """Fill V with √u_i·(N_i − N̄), and its row n with x − N̄; both by differences from the first neighbour.

    Copies of one sample are then exactly their mean.
    """
    first = X[rows[0]]
    d = x.shape[0]
    for j in range(d):
        mean[j] = 0.0
    for t in range(1, n):
        share, other = shares[t] / total, X[rows[t]]
        for j in range(d):
            mean[j] += share * (np.float64(other[j]) - first[j])
    for t in range(n):
        root, other, out = np.sqrt(shares[t]), X[rows[t]], V[t]
        for j in range(d):
            out[j] = root * ((np.float64(other[j]) - first[j]) - mean[j])
    out = V[n]
    for j in range(d):
        out[j] = (x[j] - first[j]) - mean[j]


@summing_kernel
def _dot(a, b):
    wide_vectors()
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@summing_kernel
def _subtract(a, factor, out):
    wide_vectors()
    for j in range(a.shape[0]):
        out[j] -= factor * a[j]


@kernel
def _triangle(V, n):
    """Reflect the n columns of a matrix, and one more vector, the rows of V, until they are a triangle.

    Householder's reflections. The first min(n, d) numbers of each row are then what is left of it, and the
    last row also holds what is beyond. Returns that number.
    """
    d = V.shape[1]
    m = min(n, d)
    for i in range(m):
        axis = V[i, i:]
        length = np.sqrt(_dot(axis, axis))
        if length == 0.0:
            continue
        # Away from the axis, so that nothing cancels.
        diagonal = -length if axis[0] > 0.0 else length
        axis[0] -= diagonal
        half = -diagonal * axis[0]  # ‖axis‖²/2
        if half > 0.0:
            for t in range(i + 1, n + 1):
                _subtract(axis, _dot(axis, V[t, i:]) / half, V[t, i:])
        axis[0] = diagonal
    return m


@kernel
def _rotate_rows(R, c):
    """Rotate pairs of rows of R, and numbers of c with them, until the rows are orthogonal (Jacobi)."""
    m, n = R.shape
    orthogonal = (n + 4.0) * _EPS  # what a scalar product is off by, relatively
    for _ in range(_MOST_SWEEPS):
        turned = False
        for p in range(m):
            for q in range(p + 1, m):
                a = _dot(R[p], R[p])
                b = _dot(R[q], R[q])
                g = _dot(R[p], R[q])
                if abs(g) <= orthogonal * np.sqrt(a) * np.sqrt(b):
                    continue
                turned = True
                zeta = (b - a) / (2.0 * g)
                tangent = (1.0 if zeta >= 0.0 else -1.0) / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
                cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                sine = cosine * tangent
                for j in range(n):
                    u, v = R[p, j], R[q, j]
                    R[p, j], R[q, j] = cosine * u - sine * v, sine * u + cosine * v
                u, v = c[p], c[q]
                c[p], c[q] = cosine * u - sine * v, sine * u + cosine * v
        if not turned:
            return


@kernel
def _ridge_distance(V, n, alpha):
    """‖r − Vα‖ for the ridge solution α; V's n columns, and r, are the rows of V, which is used up.

    Directions in which the columns differ by rounding only are none, and a distance that is rounding of r is
    0: a sample in the hyperplanes of two classes is as near to one as to the other.
    """
    d = V.shape[1]
    length = np.sqrt(_dot(V[n], V[n]))
    m = _triangle(V, n)
    r = V[n]
    R = np.zeros((m, n))
    for t in range(n):
        for i in range(min(t + 1, m)):
            R[i, t] = V[t, i]
    _rotate_rows(R, r[:m])
    longest = 0.0
    squares = np.empty(m)
    for i in range(m):
        squares[i] = _dot(R[i], R[i])
        longest = max(longest, squares[i])
    rounding = max(d, n) * _EPS
    total = _dot(r[m:], r[m:])
    for i in range(m):
        left = r[i]
        if squares[i] > rounding * rounding * longest:
            left *= 1.0 / (1.0 + squares[i] / alpha) if alpha > 0.0 else 0.0
        total += left * left
    distance = np.sqrt(total)
    return distance if distance > rounding * length else 0.0


@kernel
def hyperplane_distances(
    Q, query_squares, X, squares, products, class_starts, copies, k, alpha, off, tolerance, out
):
    """Fill out[q, c] with the distance of row q of Q from the local hyperplane of class c.

    Rows of X are sorted by class. ``query_squares`` and ``squares`` are squared lengths of the rows of Q and
    X, ``products`` their scalar products, all possibly measured from elsewhere, so that squared distances may
    be off by ``off[q]``. Distances that differ by less than ``tolerance``, relatively, are equal.
    """
    d = X.shape[1]
    largest = 0
    for c in range(out.shape[1]):
        largest = max(largest, class_starts[c + 1] - class_starts[c])
    heap, heap_rows = np.empty(largest), np.empty(largest, np.int64)
    rows = np.empty(largest, np.int64)
    of, distances, shares = np.empty(largest), np.empty(largest), np.empty(largest)
    mean = np.empty(d)
    V = np.empty((min(k, largest) + 2, d))
    for q in range(Q.shape[0]):
        x, square = Q[q], query_squares[q]
        for c in range(out.shape[1]):
            a, b = class_starts[c], class_starts[c + 1]
            kth = _kth(products[q], squares, square, a, b, copies, float(k), heap, heap_rows)
            zone = 2.0 * off[q]
            if kth < np.inf:
                # Squares differ, relatively, by twice as much as what they are squares of.
                zone += 4.2 * tolerance * abs(kth)
            n_sure, n = _candidates(products[q], squares, square, a, b, kth, zone, rows)
            total = _shares(x, X, rows, n_sure, n, copies, float(k), tolerance, of, distances, shares)
            n = _merge_copies(X, rows, shares, n)
            if n + 1 > V.shape[0]:
                V = np.empty((2 * n + 1, d))
            _spread(x, X, rows, shares, n, total, V, mean)
            out[q, c] = _ridge_distance(V[: n + 1], n, alpha)
