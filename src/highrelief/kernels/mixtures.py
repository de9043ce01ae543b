"""Local hyperplanes: the point nearest to a sample among the convex mixtures of its neighbours.

For a sample x with neighbours h_i, u_i copies of each, the mixture Σα_i h_i nearest to x under weights w is

    min ½·‖Σ_i α_i (h_i − x)‖²_W + λ·Σ_i α_i²/u_i   over α ≥ 0, Σα = 1,   W = diag(w),

since x = Σα_i x. With the Gram matrix G of the differences h_i − x (:func:`add_gram`) and
H = G + 2λ·diag(1/u) that is ½αᵀHα, and α = β/Σβ for the β ≥ 0 that minimises ½βᵀHβ − Σβ: the conditions of
the two minima are the same but for the scale. :func:`solve_mixtures` finds β by active sets, exactly;
:func:`add_margin` and :func:`sample_margins` make margins of the mixtures.

Lists of neighbours are flat: system s, the hits (s even) or misses (s odd) of anchor s // 2, has ``size[s]``
rows from ``start[s]`` on, and the lower half of its Gram matrix, row by row, from ``place[s]`` on.
"""

import numpy as np

from .jit import fused_kernel, kernel, summing_kernel, wide_vectors

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
def _minimise(H, m, support, beta, trial, L, z, state):
    """Minimise ½βᵀHβ − Σβ over β ≥ 0 (Lawson and Hanson's active sets); returns the size of the support.

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
def _add_penalty(G, m, penalty, copies):
    """Turn G into H = G + 2λ·diag(1/u). Returns whether G matters beside the penalty."""
    farthest, most = 0.0, 0.0
    for i in range(m):
        farthest = max(farthest, G[i * (i + 3) // 2])
        most = max(most, copies[i])
    if not penalty < _LARGEST_PENALTY * farthest:
        return False
    penalty = max(penalty, SMALLEST_PENALTY * farthest * most)
    for i in range(m):
        G[i * (i + 3) // 2] += 2.0 * penalty / copies[i]
    return True


@kernel
def solve_mixtures(gram, place, start, size, copies, penalty, s0, s1, mixture):
    """Coefficients α of the mixtures nearest to the anchors of systems s0 … s1; ``gram`` is used up.

    ``copies`` are the u_i, all > 0, and ``penalty`` is λ, in the units of the Gram matrices. λ below
    :data:`SMALLEST_PENALTY` counts as that much: of several minimisers it leaves the one of smallest
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
        u = copies[start[s] : start[s] + m]
        alpha = mixture[start[s] : start[s] + m]
        total = 0.0
        if not _add_penalty(H, m, penalty, u):
            for i in range(m):
                total += u[i]
            for i in range(m):
                alpha[i] = u[i] / total
            continue
        p = _minimise(H, m, support, beta, trial, L, z, state)
        for i in range(m):
            alpha[i] = 0.0
        for q in range(p):
            total += beta[q]
        for q in range(p):
            alpha[support[q]] = beta[q] / total


@fused_kernel
def _mix_eight(X, x, chosen, weights, begin, end, kept, out):
    """Σα(h − x) of eight neighbours in some columns, and ``kept`` times what was there."""
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
def add_margin(X, first, anchors, anchor_copies, start, size, rows, mixture, a0, a1, out):
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
            _add_excess(residuals[1], residuals[0], anchor_copies[a], out[k0 : k0 + width])


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
