"""How far samples are from the hyperplanes through their nearest neighbors (Vincent and Bengio 2002).

For one sample x and one class: who is among the k nearest (:func:`_nearest`), with which share u of a copy
(:func:`_shares`); then, with N̄ = Σ u_i N_i / Σ u_i, columns v_i = √u_i·(N_i − N̄) and r = x − N̄,

    ‖r − Vα‖,  α = (VᵀV + λ·Id)⁻¹ Vᵀr.

Reflections turn V into a small triangle R and r into (c, t), where t is what no combination of the columns
reaches. Rotations then make the rows of R orthogonal, with lengths s_i, the singular values of V. Hence

    ‖r − Vα‖² = ‖t‖² + Σ_i (λ/(s_i² + λ)·c_i)²,

sums of squares only: VᵀV, which is always singular and has the square of V's condition, is never formed.
"""

import numpy as np

from .candidates import share_equally
from .jit import fused_kernel, kernel, summing_kernel, wide_vectors

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
def _kth(products, squares, square, a, b, sample_weight, k, values, rows):
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
        held += min(sample_weight[i], k)
        while n > 1 and held - min(sample_weight[rows[0]], k) >= enough:
            held -= min(sample_weight[rows[0]], k)
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
def _shares(x, X, rows, n_sure, n, sample_weight, k, tolerance, of, distances, shares):
    """Let candidates in by their exact distances while k copies last; returns how many copies there are."""
    total, room = 0.0, k
    for t in range(n):
        of[t] = sample_weight[rows[t]]
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
def _merge_duplicates(X, rows, shares, n):
    """Put together what equal rows share, and leave out what shares nothing; returns the number that is left.

    Ties can bring any number of neighbors, but hardly of different ones.
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
    """Fill V with √u_i·(N_i − N̄), and its row n with x − N̄; both by differences from the first neighbor.

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
    Q, query_squares, X, squares, products, class_starts, sample_weight, k, alpha, off, tolerance, out
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
            kth = _kth(products[q], squares, square, a, b, sample_weight, float(k), heap, heap_rows)
            zone = 2.0 * off[q]
            if kth < np.inf:
                # Squares differ, relatively, by twice as much as what they are squares of.
                zone += 4.2 * tolerance * abs(kth)
            n_sure, n = _candidates(products[q], squares, square, a, b, kth, zone, rows)
            total = _shares(x, X, rows, n_sure, n, sample_weight, float(k), tolerance, of, distances, shares)
            n = _merge_duplicates(X, rows, shares, n)
            if n + 1 > V.shape[0]:
                V = np.empty((2 * n + 1, d))
            _spread(x, X, rows, shares, n, total, V, mean)
            out[q, c] = _ridge_distance(V[: n + 1], n, alpha)


# Local hyperplanes: the point nearest to a sample among the convex mixtures of its neighbors.
#
# For a sample x with neighbors h_i, u_i copies of each, the mixture Σα_i h_i nearest to x under weights w
# is
#
#     min ½·‖Σ_i α_i (h_i − x)‖²_W + λ·Σ_i α_i²/u_i   over α ≥ 0, Σα = 1,   W = diag(w),
#
# since x = Σα_i x. With the Gram matrix G of the differences h_i − x (:func:`add_gram`) and H = G +
# 2λ·diag(1/u) that is ½αᵀHα, and α = β/Σβ for the β ≥ 0 that minimizes ½βᵀHβ − Σβ: the conditions of the
# two minima are the same but for the scale. :func:`solve_mixtures` finds β by active sets, exactly;
# :func:`add_margin` and :func:`sample_margins` make margins of the mixtures.
#
# Lists of neighbors are flat: system s, the hits (s even) or misses (s odd) of anchor s // 2, has
# ``size[s]`` rows from ``start[s]`` on, and the lower half of its Gram matrix, row by row, from
# ``place[s]`` on.


#: Features whose differences are held at a time; sums over features are cut at multiples of it.
FEATURES_AT_ONCE = 512
#: λ is at least this, relative to the largest squared distance per copy: H can then be factorised.
SMALLEST_PENALTY = 1e-12
#: What a derivative may be below 0, relative to the largest entry of H, at a minimum.
_ROUNDING = 1e-14
#: Beyond this many times the largest squared distance, λ alone decides.
_LARGEST_PENALTY = 1e30


@kernel
def _differences(X, x, rows, begin, factors, E):
    """(h − x)·factors of each row h, in len(factors) columns from ``begin`` on, into the rows of E."""
    wide_vectors()
    width = factors.shape[0]
    own = X[x, begin : begin + width]
    for i in range(rows.shape[0]):
        other, out = X[rows[i], begin : begin + width], E[i, :width]
        for k in range(width):
            out[k] = (np.float64(other[k]) - np.float64(own[k])) * factors[k]


@summing_kernel
def _four_by_four(E, i, j, width, T):
    """Products of each of four rows, from i on, with each of four others, from j on."""
    wide_vectors()
    a, b, c, d = E[i, :width], E[i + 1, :width], E[i + 2, :width], E[i + 3, :width]
    e, f, g, h = E[j, :width], E[j + 1, :width], E[j + 2, :width], E[j + 3, :width]
    ae, af, ag, ah, be, bf, bg, bh = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    ce, cf, cg, ch, de, df, dg, dh = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(width):
        p, q, r, s = e[k], f[k], g[k], h[k]
        ae += a[k] * p
        af += a[k] * q
        ag += a[k] * r
        ah += a[k] * s
        be += b[k] * p
        bf += b[k] * q
        bg += b[k] * r
        bh += b[k] * s
        ce += c[k] * p
        cf += c[k] * q
        cg += c[k] * r
        ch += c[k] * s
        de += d[k] * p
        df += d[k] * q
        dg += d[k] * r
        dh += d[k] * s
    T[0, 0], T[0, 1], T[0, 2], T[0, 3] = ae, af, ag, ah
    T[1, 0], T[1, 1], T[1, 2], T[1, 3] = be, bf, bg, bh
    T[2, 0], T[2, 1], T[2, 2], T[2, 3] = ce, cf, cg, ch
    T[3, 0], T[3, 1], T[3, 2], T[3, 3] = de, df, dg, dh


@summing_kernel
def _four_by_themselves(E, i, width, T):
    """The lower half of the products of four rows, from i on, with each other."""
    wide_vectors()
    a, b, c, d = E[i, :width], E[i + 1, :width], E[i + 2, :width], E[i + 3, :width]
    aa, ba, bb, ca, cb, cc, da, db, dc, dd = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(width):
        p, q, r, s = a[k], b[k], c[k], d[k]
        aa += p * p
        ba += q * p
        bb += q * q
        ca += r * p
        cb += r * q
        cc += r * r
        da += s * p
        db += s * q
        dc += s * r
        dd += s * s
    T[0, 0], T[1, 0], T[1, 1], T[2, 0], T[2, 1], T[2, 2] = aa, ba, bb, ca, cb, cc
    T[3, 0], T[3, 1], T[3, 2], T[3, 3] = da, db, dc, dd


@kernel
def _add_products(E, m, width, gram, T):
    """Add the products of the first m rows of E to a Gram matrix; E has whole blocks of four rows."""
    for i in range(0, m, 4):
        for j in range(0, i + 1, 4):
            if i == j:
                _four_by_themselves(E, i, width, T)
            else:
                _four_by_four(E, i, j, width, T)
            for p in range(min(4, m - i)):
                row = (i + p) * (i + p + 1) // 2 + j
                for q in range(min(4, i + p - j + 1)):
                    gram[row + q] += T[p, q]


@kernel
def add_gram(X, first, factors, anchors, start, size, rows, place, s0, s1, gram):
    """Add what len(factors) columns of X from ``first`` on add to the Gram matrices of systems s0 … s1.

    Differences are multiplied by ``factors``. ``anchors`` and ``rows`` are rows of X.
    """
    longest = 0
    for s in range(s0, s1):
        longest = max(longest, size[s])
    E = np.zeros((longest + 3, FEATURES_AT_ONCE))
    T = np.empty((4, 4))
    n_columns = factors.shape[0]
    # Block by block of features: the rows of a block stay in the cache from system to system.
    for k0 in range(0, n_columns, FEATURES_AT_ONCE):
        width = min(FEATURES_AT_ONCE, n_columns - k0)
        for s in range(s0, s1):
            m = size[s]
            of = rows[start[s] : start[s] + m]
            _differences(X, anchors[s // 2], of, first + k0, factors[k0 : k0 + width], E)
            _add_products(E, m, width, gram[place[s] : place[s] + m * (m + 1) // 2], T)


@kernel
def _entry(H, i, j):
    return H[i * (i + 1) // 2 + j] if i >= j else H[j * (j + 1) // 2 + i]


@kernel
def _factor_row(H, support, L, z, p):
    """Row p of the Cholesky factor of H over the support, and of the solution of L·z = 1.

    Returns whether there is one: whether the point is not a mixture of those before it.
    """
    i = support[p]
    row = p * (p + 1) // 2
    left, ahead = H[i * (i + 3) // 2], 1.0
    for q in range(p):
        other = q * (q + 1) // 2
        value = _entry(H, i, support[q])
        for r in range(q):
            value -= L[row + r] * L[other + r]
        value /= L[other + q]
        L[row + q] = value
        left -= value * value
        ahead -= value * z[q]
    if not left > 1e-15 * H[i * (i + 3) // 2]:
        return False
    pivot = np.sqrt(left)
    L[row + p] = pivot
    z[p] = ahead / pivot
    return True


@kernel
def _solve_back(L, z, p, trial):
    """Solve Lᵀ·trial = z: H·trial = 1 over a support of p."""
    for q in range(p):
        trial[q] = z[q]
    for q in range(p - 1, -1, -1):
        row = q * (q + 1) // 2
        trial[q] /= L[row + q]
        for r in range(q):
            trial[r] -= L[row + r] * trial[q]


@kernel
def _step_inside(beta, trial, p):
    """Go from β towards a trial as far as no entry turns negative; the entries that stop it become 0."""
    longest = 1.0
    for q in range(p):
        if trial[q] <= 0.0:
            longest = min(longest, beta[q] / (beta[q] - trial[q]))
    for q in range(p):
        stops = trial[q] <= 0.0 and beta[q] / (beta[q] - trial[q]) <= longest
        beta[q] = 0.0 if stops else beta[q] + longest * (trial[q] - beta[q])


@kernel
def _drop_zeros(H, support, beta, L, z, p):
    """Leave the entries that are 0 out of the support; returns how many are left."""
    kept, changed = 0, p
    for q in range(p):
        if beta[q] > 0.0:
            support[kept], beta[kept] = support[q], beta[q]
            kept += 1
        elif changed == p:
            changed = q
    for q in range(changed, kept):
        _factor_row(H, support, L, z, q)
    return kept


@kernel
def _most_wanted(H, m, support, beta, p, state, slack):
    """Who lowers ½βᵀHβ − Σβ the most, about, of those outside whose derivative says so; or −1."""
    best, largest = -1, 0.0
    for i in range(m):
        if state[i] != 0:
            continue
        gain = 1.0
        for q in range(p):
            gain -= _entry(H, i, support[q]) * beta[q]
        if gain > slack and gain * gain > largest * H[i * (i + 3) // 2]:
            best, largest = i, gain * gain / H[i * (i + 3) // 2]
    return best


@kernel
def _minimize(H, m, support, beta, trial, L, z, state):
    """Minimize ½βᵀHβ − Σβ over β ≥ 0 (Lawson and Hanson's active sets); returns the size of the support.

    ``state`` says of every row whether it is outside (0), inside (1), or outside until the next step because
    it is, up to rounding, a mixture of those inside (2).
    """
    highest = 0.0
    for i in range(m):
        state[i] = 0
        highest = max(highest, H[i * (i + 3) // 2])
    p, total = 0, 0.0
    # Each step lowers the objective, so that no support comes twice; rounding must not make it endless.
    for _ in range(20 * m + 100):
        entering = _most_wanted(H, m, support, beta, p, state, _ROUNDING * highest * total)
        if entering < 0:
            break
        support[p], beta[p] = entering, 0.0
        if not _factor_row(H, support, L, z, p):
            state[entering] = 2
            continue
        p += 1
        _solve_back(L, z, p, trial)
        if not trial[p - 1] > 0.0:
            p -= 1
            state[entering] = 2
            continue
        p = _descend(H, support, beta, trial, L, z, p)
        total = 0.0
        for i in range(m):
            state[i] = 0
        for q in range(p):
            state[support[q]] = 1
            total += beta[q]
    return p


@kernel
def _descend(H, support, beta, trial, L, z, p):
    """Go to the minimum over a support, leaving out whom the way there leads out of."""
    # Each step leaves out one at least; NaN leaves out all.
    for _ in range(p):
        smallest = trial[0]
        for q in range(1, p):
            smallest = min(smallest, trial[q])
        if smallest > 0.0:
            for q in range(p):
                beta[q] = trial[q]
            return p
        _step_inside(beta, trial, p)
        p = _drop_zeros(H, support, beta, L, z, p)
        _solve_back(L, z, p, trial)
    return p


@kernel
def _add_penalty(G, m, penalty, sample_weight):
    """Turn G into H = G + 2λ·diag(1/u). Returns whether G matters beside the penalty."""
    farthest, most = 0.0, 0.0
    for i in range(m):
        farthest = max(farthest, G[i * (i + 3) // 2])
        most = max(most, sample_weight[i])
    if not penalty < _LARGEST_PENALTY * farthest:
        return False
    penalty = max(penalty, SMALLEST_PENALTY * farthest * most)
    for i in range(m):
        G[i * (i + 3) // 2] += 2.0 * penalty / sample_weight[i]
    return True


@kernel
def solve_mixtures(gram, place, start, size, sample_weight, penalty, s0, s1, mixture):
    """Coefficients α of the mixtures nearest to the anchors of systems s0 … s1; ``gram`` is used up.

    ``sample_weight`` are the u_i, all > 0, and ``penalty`` is λ, in the units of the Gram matrices. λ below
    :data:`SMALLEST_PENALTY` counts as that much: of several minimizers it leaves the one of smallest
    Σα²/u, and the objective is off by no more than it.
    """
    longest = 0
    for s in range(s0, s1):
        longest = max(longest, size[s])
    support, state = np.empty(longest, np.int64), np.empty(longest, np.int64)
    beta, trial, z = np.empty(longest), np.empty(longest), np.empty(longest)
    L = np.empty(longest * (longest + 1) // 2)
    for s in range(s0, s1):
        m = size[s]
        H = gram[place[s] : place[s] + m * (m + 1) // 2]
        u = sample_weight[start[s] : start[s] + m]
        alpha = mixture[start[s] : start[s] + m]
        total = 0.0
        if not _add_penalty(H, m, penalty, u):
            for i in range(m):
                total += u[i]
            for i in range(m):
                alpha[i] = u[i] / total
            continue
        p = _minimize(H, m, support, beta, trial, L, z, state)
        for i in range(m):
            alpha[i] = 0.0
        for q in range(p):
            total += beta[q]
        for q in range(p):
            alpha[support[q]] = beta[q] / total


@fused_kernel
def _mix_eight(X, x, chosen, weights, begin, end, kept, out):
    """Σα(h − x) of eight neighbors in some columns, and ``kept`` times what was there."""
    wide_vectors()
    own, out = X[x, begin:end], out[: end - begin]
    a, b = X[chosen[0], begin:end], X[chosen[1], begin:end]
    c, d = X[chosen[2], begin:end], X[chosen[3], begin:end]
    e, f = X[chosen[4], begin:end], X[chosen[5], begin:end]
    g, h = X[chosen[6], begin:end], X[chosen[7], begin:end]
    ca, cb, cc, cd = weights[0], weights[1], weights[2], weights[3]
    ce, cf, cg, ch = weights[4], weights[5], weights[6], weights[7]
    for k in range(end - begin):
        t = np.float64(own[k])
        first = ca * (np.float64(a[k]) - t) + cb * (np.float64(b[k]) - t)
        second = cc * (np.float64(c[k]) - t) + cd * (np.float64(d[k]) - t)
        third = ce * (np.float64(e[k]) - t) + cf * (np.float64(f[k]) - t)
        fourth = cg * (np.float64(g[k]) - t) + ch * (np.float64(h[k]) - t)
        out[k] = kept * out[k] + ((first + second) + (third + fourth))


@kernel
def _residual(X, x, rows, mixture, begin, end, chosen, weights, out):
    """Σα_i (h_i − x) in some columns, into ``out``; ``chosen`` and ``weights`` are room for eight."""
    m = rows.shape[0]
    i, kept = 0, 0.0
    while i < m or kept == 0.0:
        n = 0
        while i < m and n < 8:
            if mixture[i] > 0.0:
                chosen[n], weights[n] = rows[i], mixture[i]
                n += 1
            i += 1
        # What is missing to eight is the sample itself.
        for t in range(n, 8):
            chosen[t], weights[t] = x, 0.0
        _mix_eight(X, x, chosen, weights, begin, end, kept, out)
        kept = 1.0


@kernel
def _add_excess(miss, hit, factor, out):
    wide_vectors()
    for k in range(out.shape[0]):
        out[k] += factor * (abs(miss[k]) - abs(hit[k]))


@summing_kernel
def _weighted_excess(miss, hit, w):
    wide_vectors()
    total = 0.0
    for k in range(w.shape[0]):
        total += w[k] * (abs(miss[k]) - abs(hit[k]))
    return total


@kernel
def _residuals(X, x, a, start, size, rows, mixture, begin, end, chosen, weights, out):
    """Residuals of the hits of anchor a, at row x, into ``out[0]``, and of its misses into ``out[1]``."""
    for slot in range(2):
        first, last = start[2 * a + slot], start[2 * a + slot] + size[2 * a + slot]
        _residual(X, x, rows[first:last], mixture[first:last], begin, end, chosen, weights, out[slot])


@kernel
def add_margin(X, first, anchors, anchor_weight, start, size, rows, mixture, a0, a1, out):
    """Add Σ s·(|x − miss| − |x − hit|) over anchors a0 … a1, s copies each, to ``out``, column by column.

    ``out`` is of columns of X from ``first`` on, and in their units.
    """
    n_columns = out.shape[0]
    chosen, weights, residuals = np.empty(8, np.int64), np.empty(8), np.zeros((2, FEATURES_AT_ONCE))
    for k0 in range(0, n_columns, FEATURES_AT_ONCE):
        width = min(FEATURES_AT_ONCE, n_columns - k0)
        begin, end = first + k0, first + k0 + width
        for a in range(a0, a1):
            x = anchors[a]
            _residuals(X, x, a, start, size, rows, mixture, begin, end, chosen, weights, residuals)
            _add_excess(residuals[1], residuals[0], anchor_weight[a], out[k0 : k0 + width])


@kernel
def sample_margins(X, first, anchors, factors, start, size, rows, mixture, a0, a1, out):
    """Add Σ_k factors_k·(|x − miss|_k − |x − hit|_k) of anchors a0 … a1 to ``out``."""
    n_columns = factors.shape[0]
    chosen, weights, residuals = np.empty(8, np.int64), np.empty(8), np.zeros((2, FEATURES_AT_ONCE))
    for k0 in range(0, n_columns, FEATURES_AT_ONCE):
        width = min(FEATURES_AT_ONCE, n_columns - k0)
        begin, end = first + k0, first + k0 + width
        for a in range(a0, a1):
            x = anchors[a]
            _residuals(X, x, a, start, size, rows, mixture, begin, end, chosen, weights, residuals)
            out[a] += _weighted_excess(residuals[1], residuals[0], factors[k0 : k0 + width])
