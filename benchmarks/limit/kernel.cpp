// What a machine can do at most: all Manhattan distances of a table, and the second pass of I-RELIEF.
//
// Both rest on |a - b| = a + b - 2 min(a, b): the sums of a and b belong to the rows, which leaves one minimum
// and one addition per pair and feature. Rows are whole vectors, padded with zeros, on 64-byte boundaries.
// Pairs go by square tiles of the upper triangle, tiles by blocks of features that stay in the cache, blocks by
// R x C pairs of rows whose sums stay in registers. Which R x C, which block of features and which way of
// adding is fastest differs between machines: __init__.py tries them all and keeps the best.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <typename T> struct Lanes;
template <> struct Lanes<float> {
    typedef float Vector __attribute__((vector_size(kVectorBytes)));
    typedef int Index __attribute__((vector_size(kVectorBytes)));
};
template <> struct Lanes<double> {
    typedef double Vector __attribute__((vector_size(kVectorBytes)));
    typedef long long Index __attribute__((vector_size(kVectorBytes)));
};

template <typename T> using Vector = typename Lanes<T>::Vector;
template <typename T> constexpr int kLanes = kVectorBytes / sizeof(T);

template <typename T> inline Vector<T> load(const T* from) { return *reinterpret_cast<const Vector<T>*>(from); }
template <typename T> inline void store(T* to, Vector<T> v) { *reinterpret_cast<Vector<T>*>(to) = v; }
template <typename T> inline Vector<T> broadcast(T value) { return value - Vector<T>{}; }

// Loads, and keeps in a register: gcc would rather load a vector again for each of its uses, and run out of loads
// before it runs out of arithmetic.
template <typename T> inline Vector<T> load_once(const T* from) {
    Vector<T> v = load(from);
#if defined(__AVX512F__)
    asm("" : "+v"(v));
#elif defined(__AVX__)
    asm("" : "+x"(v));
#endif
    return v;
}

// A single instruction, given -ffinite-math-only and -fno-signed-zeros.
template <typename T> inline Vector<T> least(Vector<T> a, Vector<T> b) { return a < b ? a : b; }

// One step from n/2 to n vectors in which partial sums of several vectors share the lanes: lane `lane` of the
// result is the sum of two lanes that belong to the same vector. Within 16 bytes the two halves are added, then
// 16-byte units with their neighbours; each step is two shuffles that every instruction set has.
template <typename T, int n> constexpr int first_lane(int lane) {
    constexpr int lanes = kLanes<T>, unit = 16 / sizeof(T), units = lanes / unit;
    const int place = lane / unit, within = lane % unit;
    if (n <= unit) {
        const int step = n / 2, block = within / step;
        return (block % 2) * lanes + place * unit + (block / 2) * step + within % step;
    }
    const bool second = place >= units / 2;
    return second * lanes + 2 * (place - second * (units / 2)) * unit + within;
}

template <typename T, int n, std::size_t... lane>
inline Vector<T> folded(Vector<T> a, Vector<T> b, std::index_sequence<lane...>) {
    constexpr int unit = 16 / sizeof(T), apart = n <= unit ? unit / 2 : unit;
    using Index = typename Lanes<T>::Index;
    return __builtin_shuffle(a, b, Index{first_lane<T, n>(lane)...}) +
           __builtin_shuffle(a, b, Index{(first_lane<T, n>(lane) + apart)...});
}

// The sums of the lanes of n vectors; for n = kLanes, lane i is the sum of vector i.
template <typename T, int n> inline Vector<T> lane_sums(const Vector<T>* v) {
    if constexpr (n == 1) {
        return *v;
    } else {
        return folded<T, n>(lane_sums<T, n / 2>(v), lane_sums<T, n / 2>(v + n / 2),
                            std::make_index_sequence<kLanes<T>>{});
    }
}

constexpr long whole(long n, long multiple) { return (n + multiple - 1) / multiple * multiple; }

// Adds sum_k min(a_rk, b_ck) for R x C pairs of rows to sums[r * C + c].
//
// fused: minima and additions wait for the same units on AMD's Zen 4, minima and multiply-adds do not. `one` is
// a 1 that the compiler cannot see, or it would turn the multiply-adds back into additions.
template <typename T, int R, int C, bool fused>
inline void add_minima(const T* A, const T* B, long stride, long features, T one, T* sums) {
    constexpr int groups = whole(R * C, kLanes<T>) / kLanes<T>;
    Vector<T> acc[groups * kLanes<T>] = {};
    const Vector<T> ones = broadcast(one);
    for (long k = 0; k < features; k += kLanes<T>) {
        Vector<T> a[R];
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) a[r] = load_once(A + r * stride + k);
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) {
            const Vector<T> b = load_once(B + c * stride + k);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) {
                const Vector<T> m = least<T>(a[r], b);
                acc[r * C + c] = fused ? m * ones + acc[r * C + c] : acc[r * C + c] + m;
            }
        }
    }
#pragma GCC unroll 8
    for (int g = 0; g < groups; g++) {
        T* out = sums + g * kLanes<T>;
        store(out, load(out) + lane_sums<T, kLanes<T>>(acc + g * kLanes<T>));
    }
}

// Adds sum_rc S_rc min(a_rk, b_ck) to out[k].
template <typename T, int R, int C>
inline void add_weighted_minima(const T* A, const T* B, long stride, long features, const T* S, long columns,
                                T* out) {
    Vector<T> s[R][C];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) {
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) s[r][c] = broadcast(S[r * columns + c]);
    }
    for (long k = 0; k < features; k += kLanes<T>) {
        // Two sums, so that a multiply-add need not wait for the one before it.
        Vector<T> a[R], even = load(out + k), odd = {};
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) a[r] = load_once(A + r * stride + k);
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) {
            const Vector<T> b = load_once(B + c * stride + k);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) {
                Vector<T>& sum = (r + c) % 2 ? odd : even;
                sum = s[r][c] * least<T>(a[r], b) + sum;
            }
        }
        store(out + k, even + odd);
    }
}

// Rows of a tile: about 64, and whole blocks. Padding rows of the table fill the last tile's last block.
template <int R, int C> constexpr long kTile = 64 / std::lcm(R, C) * std::lcm(R, C);

template <typename T, int R, int C, bool fused>
void all_distances(const T* X, long n, long stride, const T* row_sums, T one, long block, T* D) {
    constexpr long tile = kTile<R, C>, places = whole(R * C, kLanes<T>);
    alignas(64) static thread_local T sums[(tile / R) * (tile / C) * places];
    alignas(64) static thread_local T square[tile][tile];
    for (long i0 = 0; i0 < n; i0 += tile) {
        for (long j0 = i0; j0 < n; j0 += tile) {
            const long rows = std::min(tile, n - i0), columns = std::min(tile, n - j0);
            std::memset(sums, 0, sizeof sums);
            for (long k = 0; k < stride; k += block) {
                const long features = std::min(block, stride - k);
                T* at = sums;
                for (long i = 0; i < rows; i += R) {
                    for (long j = 0; j < columns; j += C, at += places) {
                        if (i0 == j0 && j + C <= i) continue;  // the other half of a tile on the diagonal
                        add_minima<T, R, C, fused>(X + (i0 + i) * stride + k, X + (j0 + j) * stride + k, stride,
                                                   features, one, at);
                    }
                }
            }
            const T* at = sums;
            for (long i = 0; i < rows; i += R) {
                for (long j = 0; j < columns; j += C, at += places) {
                    for (int r = 0; r < R; r++) {
                        for (int c = 0; c < C; c++) square[i + r][j + c] = at[r * C + c];
                    }
                }
            }
            for (long i = 0; i < rows; i++) {
                T* out = D + (i0 + i) * n + j0;
                for (long j = i0 == j0 ? i : 0; j < columns; j++) {
                    square[i][j] = row_sums[i0 + i] + row_sums[j0 + j] - 2 * square[i][j];
                    out[j] = square[i][j];
                }
            }
            for (long j = 0; j < columns; j++) {
                T* out = D + (j0 + j) * n + i0;
                for (long i = 0, end = i0 == j0 ? j : rows; i < end; i++) out[i] = square[i][j];
            }
        }
    }
}

template <typename T, int R, int C>
void all_weighted_minima(const T* X, long n, long stride, const T* S, long block, double* out) {
    constexpr long tile = kTile<R, C>;
    alignas(64) static thread_local T weights[tile * tile];
    std::vector<T> buffer(whole(block, kLanes<T>) + kLanes<T>);
    T* partial = buffer.data() + (-(reinterpret_cast<std::size_t>(buffer.data()) / sizeof(T))) % kLanes<T>;
    for (long i0 = 0; i0 < n; i0 += tile) {
        for (long j0 = i0; j0 < n; j0 += tile) {
            const long rows = std::min(tile, n - i0), columns = std::min(tile, n - j0);
            std::memset(weights, 0, sizeof weights);
            for (long i = 0; i < rows; i++) {
                for (long j = i0 == j0 ? i + 1 : 0; j < columns; j++) {
                    weights[i * tile + j] = S[(i0 + i) * n + j0 + j];
                }
            }
            for (long k = 0; k < stride; k += block) {
                const long features = std::min(block, stride - k);
                std::memset(partial, 0, features * sizeof(T));
                for (long i = 0; i < rows; i += R) {
                    for (long j = 0; j < columns; j += C) {
                        if (i0 == j0 && j + C <= i) continue;
                        add_weighted_minima<T, R, C>(X + (i0 + i) * stride + k, X + (j0 + j) * stride + k, stride,
                                                     features, weights + i * tile + j, tile, partial);
                    }
                }
                for (long f = 0; f < features; f++) out[k + f] += static_cast<double>(partial[f]);
            }
        }
    }
}

}  // namespace

// Register blocks worth trying: 4 x 4 and 4 x 6 for the 32 registers of AVX-512, the others for the 16 of AVX2.
#define FOR_EACH_BLOCK(DO) DO(0, 4, 4) DO(1, 4, 6) DO(2, 3, 3) DO(3, 2, 4) DO(4, 2, 6)

#define DISTANCES(number, R, C)                                                                    \
    case 2 * number: return all_distances<T, R, C, false>(X, n, stride, row_sums, one, block, D);  \
    case 2 * number + 1: return all_distances<T, R, C, true>(X, n, stride, row_sums, one, block, D);
#define MINIMA(number, R, C) \
    case number: return all_weighted_minima<T, R, C>(X, n, stride, S, block, out);
#define NAME(number, R, C) #R "x" #C " "

// X needs room for rows up to the next multiple of 12: a block may read beyond the last row.
#define EXPORT(suffix, type)                                                                                 \
    void distances_##suffix(int variant, const type* X, long n, long stride, const type* row_sums, type one, \
                            long block, type* D) {                                                           \
        using T = type;                                                                                      \
        switch (variant) { FOR_EACH_BLOCK(DISTANCES) }                                                       \
    }                                                                                                        \
    void weighted_minima_##suffix(int variant, const type* X, long n, long stride, const type* S, long block, \
                                  double* out) {                                                             \
        using T = type;                                                                                      \
        switch (variant) { FOR_EACH_BLOCK(MINIMA) }                                                          \
    }

extern "C" {
const char* blocks() { return FOR_EACH_BLOCK(NAME); }
int vector_bytes() { return kVectorBytes; }
EXPORT(float32, float)
EXPORT(float64, double)
}
