"""Distances to local hyperplanes (Vincent and Bengio 2002), and margins of convex mixtures of neighbors.

For a sample x and a class, u_i is the share of neighbor N_i among the k nearest. With N̄ = Σ u_i N_i / Σ u_i,
columns v_i = √u_i·(N_i − N̄) and r = x − N̄, the distance is

    ‖r − Vα‖,  α = (VᵀV + λ·Id)⁻¹ Vᵀr.

Householder reflections turn V into a small triangle R and r into (c, t), where t is orthogonal to the columns
of V. Jacobi rotations then make the rows of R orthogonal, with lengths s_i, the singular values of V. Hence

    ‖r − Vα‖² = ‖t‖² + Σ_i (λ/(s_i² + λ)·c_i)²,

sums of squares only: VᵀV, which is always singular and has the squared condition number of V, is never
formed.
"""

import numpy as np

from .candidates import share_equally
from .intrinsics import empty, maximum, minimum, zeros
from .jit import fused_kernel, kernel, summing_kernel, wide_vectors
from .vectors import dot, squared_distance

_EPS = float(np.finfo(np.float64).eps)
#: Most sweeps over all pairs of rows; convergence is quadratic, and eight are rarely exceeded.
_MAX_SWEEPS = 40


@kernel
def _sift_down(values, rows, root, n):
    """Sift the value at ``root`` of a max-heap of n values down; rows move along."""
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
def _sift_up(values, rows, place):
    """Sift the value at ``place`` of a max-heap up; rows move along."""
    value, row = values[place], rows[place]
    while place > 0 and values[(place - 1) // 2] < value:
        parent = (place - 1) // 2
        values[place], rows[place] = values[parent], rows[parent]
        place = parent
    values[place], rows[place] = value, row


@kernel
def _kth_square(products, squares, square, a, b, sample_weight, k, values, rows):
    """Return the smallest squared distance to rows a … b up to which weights sum to k; ∞ if they do not.

    ``values`` and ``rows`` are scratch space for a heap of the nearest so far.
    """
    n, total_weight = 0, 0.0
    required = k * (1.0 - 1e-9)
    # Weights are capped at k: a heavy sample must not absorb the others in the running sum.
    for i in range(a, b):
        d = square + squares[i] - 2.0 * products[i]
        if total_weight >= required and d >= values[0]:
            continue
        values[n], rows[n] = d, i
        _sift_up(values, rows, n)
        n += 1
        total_weight += minimum(sample_weight[i], k)
        while n > 1 and total_weight - minimum(sample_weight[rows[0]], k) >= required:
            total_weight -= minimum(sample_weight[rows[0]], k)
            n -= 1
            values[0], rows[0] = values[n], rows[n]
            _sift_down(values, rows, 0, n)
    return values[0] if total_weight >= required else np.inf


@kernel
def _candidates(products, squares, square, a, b, kth, zone, rows):
    """Write the rows whose squared distance may be among the k smallest, sure ones first.

    Returns the number of sure rows and the number of all.
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
def _shares(x, X, rows, n_sure, n, sample_weight, k, tolerance, weights, distances, shares):
    """Write the shares of the candidates by exact distance, up to k in total; return the total share."""
    total, capacity = 0.0, k
    for t in range(n):
        weights[t] = sample_weight[rows[t]]
        shares[t] = weights[t]
        total += weights[t]
        if t < n_sure:
            capacity -= weights[t]
    if total <= k * (1.0 + 1e-9):
        return total
    for t in range(n_sure, n):
        distances[t] = np.sqrt(squared_distance(x, X[rows[t]]))
    share_equally(distances[n_sure:n], weights[n_sure:n], capacity, tolerance, shares[n_sure:n])
    return k


@kernel
def _equal(a, b):
    j = 0
    while j < a.shape[0] and a[j] == b[j]:
        j += 1
    return j == a.shape[0]


@kernel
def _merge_duplicates(X, rows, shares, n):
    """Merge the shares of equal rows and drop rows without a share; return the number of rows left.

    Ties can add any number of neighbors, but rarely of distinct ones.
    """
    n_merged = 0
    for t in range(n):
        if shares[t] == 0.0:
            continue
        place = 0
        while place < n_merged and not _equal(X[rows[place]], X[rows[t]]):
            place += 1
        share = shares[t]
        if place == n_merged:
            rows[n_merged], shares[n_merged] = rows[t], 0.0
            n_merged += 1
        shares[place] += share
    return n_merged


@kernel
def _center_neighbors(x, X, rows, shares, n, total, V, mean):
    """Fill V with √u_i·(N_i − N̄), and its row n with x − N̄; both via differences from the first neighbor.

    Identical neighbors are then exactly equal to their mean.
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
def _subtract(a, factor, out):
    wide_vectors()
    for j in range(a.shape[0]):
        out[j] -= factor * a[j]


@kernel
def _triangularize(V, n):
    """Triangularize the n columns of a matrix, stored as rows of V, and apply the reflections to row n.

    Householder reflections. The first m = min(n, d) entries of each row are its transformed coordinates; the
    last row also contains the component beyond them. Returns m.
    """
    d = V.shape[1]
    m = minimum(n, d)
    for i in range(m):
        axis = V[i, i:]
        length = np.sqrt(dot(axis, axis))
        if length == 0.0:
            continue
        # The sign avoids cancellation.
        diagonal = -length if axis[0] > 0.0 else length
        axis[0] -= diagonal
        half = -diagonal * axis[0]  # ‖axis‖²/2
        if half > 0.0:
            for t in range(i + 1, n + 1):
                _subtract(axis, dot(axis, V[t, i:]) / half, V[t, i:])
        axis[0] = diagonal
    return m


@kernel
def _rotate_rows(R, c):
    """Rotate pairs of rows of R, and entries of c with them, until the rows are orthogonal (Jacobi)."""
    m, n = R.shape
    orthogonal = (n + 4.0) * _EPS  # relative rounding error of a dot product
    for _ in range(_MAX_SWEEPS):
        rotated = False
        for p in range(m):
            for q in range(p + 1, m):
                a = dot(R[p], R[p])
                b = dot(R[q], R[q])
                g = dot(R[p], R[q])
                if abs(g) <= orthogonal * np.sqrt(a) * np.sqrt(b):
                    continue
                rotated = True
                zeta = (b - a) / (2.0 * g)
                tangent = (1.0 if zeta >= 0.0 else -1.0) / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
                cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                sine = cosine * tangent
                for j in range(n):
                    u, v = R[p, j], R[q, j]
                    R[p, j], R[q, j] = cosine * u - sine * v, sine * u + cosine * v
                u, v = c[p], c[q]
                c[p], c[q] = cosine * u - sine * v, sine * u + cosine * v
        if not rotated:
            return


@kernel
def _ridge_distance(V, n, alpha):
    """Return ‖r − Vα‖ for the ridge solution α; the rows of V are its n columns and r, and are overwritten.

    Directions in which the columns differ by rounding only are ignored, and a distance within the rounding of
    r is 0: a sample in the hyperplanes of two classes is then equally close to both.
    """
    d = V.shape[1]
    length = np.sqrt(dot(V[n], V[n]))
    m = _triangularize(V, n)
    r = V[n]
    R = zeros((m, n), np.float64)
    for t in range(n):
        for i in range(minimum(t + 1, m)):
            R[i, t] = V[t, i]
    _rotate_rows(R, r[:m])
    longest = 0.0
    squares = empty(m, np.float64)
    for i in range(m):
        squares[i] = dot(R[i], R[i])
        longest = maximum(longest, squares[i])
    rounding = maximum(d, n) * _EPS
    total = dot(r[m:], r[m:])
    for i in range(m):
        component = r[i]
        if squares[i] > rounding * rounding * longest:
            component *= 1.0 / (1.0 + squares[i] / alpha) if alpha > 0.0 else 0.0
        total += component * component
    distance = np.sqrt(total)
    return distance if distance > rounding * length else 0.0


@kernel
def hyperplane_distances(
    Q, query_squares, X, squares, products, class_starts, sample_weight, k, alpha, error_bound, tolerance, out
):
    """Fill out[q, c] with the distance of row q of Q to the local hyperplane of class c.

    Rows of X are sorted by class. ``query_squares`` and ``squares`` are squared norms of the rows of Q and
    X, ``products`` their dot products, all possibly relative to another origin. The resulting squared
    distances have the error bound ``error_bound[q]``. Distances with a relative difference below
    ``tolerance`` are equal.
    """
    d = X.shape[1]
    largest = 0
    for c in range(out.shape[1]):
        largest = maximum(largest, class_starts[c + 1] - class_starts[c])
    heap, heap_rows = empty(largest, np.float64), empty(largest, np.int64)
    rows = empty(largest, np.int64)
    weights, distances, shares = (
        empty(largest, np.float64),
        empty(largest, np.float64),
        empty(largest, np.float64),
    )
    mean = empty(d, np.float64)
    V = empty((minimum(k, largest) + 2, d), np.float64)
    for q in range(Q.shape[0]):
        x, square = Q[q], query_squares[q]
        for c in range(out.shape[1]):
            a, b = class_starts[c], class_starts[c + 1]
            kth = _kth_square(products[q], squares, square, a, b, sample_weight, float(k), heap, heap_rows)
            zone = 2.0 * error_bound[q]
            if kth < np.inf:
                # The relative difference of squares is twice that of the distances.
                zone += 4.2 * tolerance * abs(kth)
            n_sure, n = _candidates(products[q], squares, square, a, b, kth, zone, rows)
            total = _shares(
                x, X, rows, n_sure, n, sample_weight, float(k), tolerance, weights, distances, shares
            )
            n = _merge_duplicates(X, rows, shares, n)
            if n + 1 > V.shape[0]:
                V = empty((2 * n + 1, d), np.float64)
            _center_neighbors(x, X, rows, shares, n, total, V, mean)
            out[q, c] = _ridge_distance(V[: n + 1], n, alpha)


# Convex mixtures: the point nearest to a sample among the convex combinations of its neighbors.
#
# For a sample x with neighbors h_i of sample weights u_i, the mixture Σα_i h_i nearest to x under feature
# weights w is
#
#     min ½·‖Σ_i α_i (h_i − x)‖²_W + λ·Σ_i α_i²/u_i   over α ≥ 0, Σα = 1,   W = diag(w),
#
# since x = Σα_i x. With the Gram matrix G of the differences h_i − x (:func:`add_gram`) and H = G +
# 2λ·diag(1/u) that is ½αᵀHα, and α = β/Σβ for the β ≥ 0 that minimizes ½βᵀHβ − Σβ: the conditions of the
# two minima differ only by the scale. :func:`solve_mixtures` finds β exactly with an active-set method;
# :func:`add_margin` and :func:`sample_margins` compute the margins of the mixtures.
#
# Lists of neighbors are flat: system s, the hits (s even) or misses (s odd) of anchor s // 2, has
# ``size[s]`` rows from ``start[s]`` on, and the lower half of its Gram matrix, row by row, from
# ``place[s]`` on.

#: Features per block of differences; sums over features are split at multiples of it.
FEATURES_AT_ONCE = 512
#: Lower bound of λ relative to the largest squared distance times weight: H can then be factorized.
SMALLEST_PENALTY = 1e-12
#: Tolerance of the derivative at a minimum, relative to the largest entry of H.
_ROUNDING = 1e-14
#: Above this multiple of the largest squared distance, λ alone determines α.
_LARGEST_PENALTY = 1e30


@kernel
def _differences(X, x, rows, begin, factors, E):
    """Write (h − x)·factors of each row h, in len(factors) columns from ``begin`` on, to the rows of E."""
    wide_vectors()
    width = factors.shape[0]
    own = X[x, begin : begin + width]
    for i in range(rows.shape[0]):
        other, out = X[rows[i], begin : begin + width], E[i, :width]
        for k in range(width):
            out[k] = (np.float64(other[k]) - np.float64(own[k])) * factors[k]


@summing_kernel
def _products_4_by_4(E, i, j, width, T):
    """Compute the dot products of four rows, from i on, with four others, from j on."""
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
def _products_4_lower(E, i, width, T):
    """Compute the lower half of the dot products of four rows, from i on, with each other."""
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
def _add_gram_products(E, m, width, gram, T):
    """Add the products of the first m rows of E to a Gram matrix; E has whole blocks of four rows."""
    for i in range(0, m, 4):
        for j in range(0, i + 1, 4):
            if i == j:
                _products_4_lower(E, i, width, T)
            else:
                _products_4_by_4(E, i, j, width, T)
            for p in range(minimum(4, m - i)):
                row = (i + p) * (i + p + 1) // 2 + j
                for q in range(minimum(4, i + p - j + 1)):
                    gram[row + q] += T[p, q]


@kernel
def add_gram(X, first, factors, anchors, start, size, rows, place, s0, s1, gram):
    """Add the products in len(factors) columns, from ``first`` on, to the Gram matrices of systems s0 … s1.

    Differences are multiplied by ``factors``. ``anchors`` and ``rows`` are rows of X.
    """
    longest = 0
    for s in range(s0, s1):
        longest = maximum(longest, size[s])
    E = zeros((longest + 3, FEATURES_AT_ONCE), np.float64)
    T = empty((4, 4), np.float64)
    n_columns = factors.shape[0]
    # Block by block of features: rows stay in the cache from system to system.
    for k0 in range(0, n_columns, FEATURES_AT_ONCE):
        width = minimum(FEATURES_AT_ONCE, n_columns - k0)
        for s in range(s0, s1):
            m = size[s]
            neighbors = rows[start[s] : start[s] + m]
            _differences(X, anchors[s // 2], neighbors, first + k0, factors[k0 : k0 + width], E)
            _add_gram_products(E, m, width, gram[place[s] : place[s] + m * (m + 1) // 2], T)


@kernel
def _entry(H, i, j):
    return H[i * (i + 1) // 2 + j] if i >= j else H[j * (j + 1) // 2 + i]


@kernel
def _factor_row(H, support, L, z, p):
    """Compute row p of the Cholesky factor of H over the support, and of the solution of L·z = 1.

    Returns False if there is none: the point is a mixture of those before it.
    """
    i = support[p]
    row = p * (p + 1) // 2
    remainder, rhs = H[i * (i + 3) // 2], 1.0
    for q in range(p):
        other = q * (q + 1) // 2
        value = _entry(H, i, support[q])
        for r in range(q):
            value -= L[row + r] * L[other + r]
        value /= L[other + q]
        L[row + q] = value
        remainder -= value * value
        rhs -= value * z[q]
    if not remainder > 1e-15 * H[i * (i + 3) // 2]:
        return False
    pivot = np.sqrt(remainder)
    L[row + p] = pivot
    z[p] = rhs / pivot
    return True


@kernel
def _solve_back(L, z, p, trial):
    """Solve Lᵀ·trial = z, that is H·trial = 1 over a support of size p."""
    for q in range(p):
        trial[q] = z[q]
    for q in range(p - 1, -1, -1):
        row = q * (q + 1) // 2
        trial[q] /= L[row + q]
        for r in range(q):
            trial[r] -= L[row + r] * trial[q]


@kernel
def _step_inside(beta, trial, p):
    """Move β towards the trial until an entry becomes 0; the blocking entries are set to 0."""
    step = 1.0
    for q in range(p):
        if trial[q] <= 0.0:
            step = minimum(step, beta[q] / (beta[q] - trial[q]))
    for q in range(p):
        blocks = trial[q] <= 0.0 and beta[q] / (beta[q] - trial[q]) <= step
        beta[q] = 0.0 if blocks else beta[q] + step * (trial[q] - beta[q])


@kernel
def _remove_zeros(H, support, beta, L, z, p):
    """Remove the zero entries from the support; return the number of entries left."""
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
def _best_entering(H, m, support, beta, p, state, slack):
    """Return the variable outside the support with the largest approximate decrease of ½βᵀHβ − Σβ; or −1.

    Variables whose derivative is within ``slack`` of a minimum are ignored.
    """
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
    """Minimize ½βᵀHβ − Σβ over β ≥ 0 (Lawson and Hanson's active sets); return the size of the support.

    ``state`` is 0 for rows outside the support and 1 for rows inside; 2 for rows that are, up to rounding,
    mixtures of those inside and are skipped until the next step.
    """
    highest = 0.0
    for i in range(m):
        state[i] = 0
        highest = maximum(highest, H[i * (i + 3) // 2])
    p, total = 0, 0.0
    # Each step decreases the objective, so no support repeats; the limit guards against rounding.
    for _ in range(20 * m + 100):
        entering = _best_entering(H, m, support, beta, p, state, _ROUNDING * highest * total)
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
        p = _minimize_on_support(H, support, beta, trial, L, z, p)
        total = 0.0
        for i in range(m):
            state[i] = 0
        for q in range(p):
            state[support[q]] = 1
            total += beta[q]
    return p


@kernel
def _minimize_on_support(H, support, beta, trial, L, z, p):
    """Move to the minimum over a support, removing variables that become negative on the way."""
    # Each step removes at least one variable; NaN removes all.
    for _ in range(p):
        smallest = trial[0]
        for q in range(1, p):
            smallest = minimum(smallest, trial[q])
        if smallest > 0.0:
            for q in range(p):
                beta[q] = trial[q]
            return p
        _step_inside(beta, trial, p)
        p = _remove_zeros(H, support, beta, L, z, p)
        _solve_back(L, z, p, trial)
    return p


@kernel
def _add_penalty(G, m, penalty, sample_weight):
    """Convert G to H = G + 2λ·diag(1/u); return False if G is negligible compared with the penalty."""
    max_square, max_weight = 0.0, 0.0
    for i in range(m):
        max_square = maximum(max_square, G[i * (i + 3) // 2])
        max_weight = maximum(max_weight, sample_weight[i])
    if not penalty < _LARGEST_PENALTY * max_square:
        return False
    penalty = maximum(penalty, SMALLEST_PENALTY * max_square * max_weight)
    for i in range(m):
        G[i * (i + 3) // 2] += 2.0 * penalty / sample_weight[i]
    return True


@kernel
def solve_mixtures(gram, place, start, size, sample_weight, penalty, s0, s1, mixture):
    """Compute the coefficients α of the mixtures nearest to the anchors of systems s0 … s1.

    Overwrites ``gram``. ``sample_weight`` are the u_i, all > 0, and ``penalty`` is λ, in the units of the
    Gram matrices. λ is at least :data:`SMALLEST_PENALTY`: among several minimizers this selects the one of
    smallest Σα²/u, and changes the objective by no more than the penalty.
    """
    longest = 0
    for s in range(s0, s1):
        longest = maximum(longest, size[s])
    support, state = empty(longest, np.int64), empty(longest, np.int64)
    beta, trial, z = empty(longest, np.float64), empty(longest, np.float64), empty(longest, np.float64)
    L = empty(longest * (longest + 1) // 2, np.float64)
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
    """Write Σα(h − x) of eight neighbors in some columns, plus ``kept`` times the old content, to ``out``."""
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
    """Write Σα_i (h_i − x) in some columns to ``out``; ``chosen`` and ``weights`` are scratch space."""
    m = rows.shape[0]
    i, kept = 0, 0.0
    while i < m or kept == 0.0:
        n = 0
        while i < m and n < 8:
            if mixture[i] > 0.0:
                chosen[n], weights[n] = rows[i], mixture[i]
                n += 1
            i += 1
        # Blocks are padded to eight with the sample itself at weight 0.
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
def _anchor_residuals(X, x, a, start, size, rows, mixture, begin, end, chosen, weights, out):
    """Write the residuals of the hits of anchor a, at row x, to ``out[0]``; of its misses to ``out[1]``."""
    for slot in range(2):
        first, last = start[2 * a + slot], start[2 * a + slot] + size[2 * a + slot]
        _residual(X, x, rows[first:last], mixture[first:last], begin, end, chosen, weights, out[slot])


@kernel
def add_margin(X, first, anchors, anchor_weight, start, size, rows, mixture, a0, a1, out):
    """Add Σ s·(|x − miss| − |x − hit|) over anchors a0 … a1 of weight s to ``out``, column by column.

    ``out`` covers columns of X from ``first`` on, in their units.
    """
    n_columns = out.shape[0]
    chosen, weights, residuals = (
        empty(8, np.int64),
        empty(8, np.float64),
        zeros((2, FEATURES_AT_ONCE), np.float64),
    )
    for k0 in range(0, n_columns, FEATURES_AT_ONCE):
        width = minimum(FEATURES_AT_ONCE, n_columns - k0)
        begin, end = first + k0, first + k0 + width
        for a in range(a0, a1):
            x = anchors[a]
            _anchor_residuals(X, x, a, start, size, rows, mixture, begin, end, chosen, weights, residuals)
            _add_excess(residuals[1], residuals[0], anchor_weight[a], out[k0 : k0 + width])


@kernel
def sample_margins(X, first, anchors, factors, start, size, rows, mixture, a0, a1, out):
    """Add Σ_k factors_k·(|x − miss|_k − |x − hit|_k) of anchors a0 … a1 to ``out``."""
    n_columns = factors.shape[0]
    chosen, weights, residuals = (
        empty(8, np.int64),
        empty(8, np.float64),
        zeros((2, FEATURES_AT_ONCE), np.float64),
    )
    for k0 in range(0, n_columns, FEATURES_AT_ONCE):
        width = minimum(FEATURES_AT_ONCE, n_columns - k0)
        begin, end = first + k0, first + k0 + width
        for a in range(a0, a1):
            x = anchors[a]
            _anchor_residuals(X, x, a, start, size, rows, mixture, begin, end, chosen, weights, residuals)
            out[a] += _weighted_excess(residuals[1], residuals[0], factors[k0 : k0 + width])
