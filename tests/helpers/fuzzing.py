"""Tables that nobody would write down, and what must hold of every estimator on each of them.

An answer or a clear error: no weight that is not a number, no error of another library, no changed input.
"""

import linecache
import tempfile
import traceback
import warnings
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from hypothesis import strategies as st
from registry import ALL_ENTRIES, CLASSIFIERS, EXTRACTORS, FOR_NUMBERS
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from highrelief import (
    CrossValidatedSelector,
    EnsembleWeighting,
    ErrorControlledSelector,
    FisherScore,
    IterativeElimination,
    RedundancyFilter,
    ReliefF,
    RReliefF,
)

#: What the registry does not have: other ways to decide, and wrappers around wrappers.
OTHERS = [
    ErrorControlledSelector(
        ReliefF(n_neighbors=3), method="stability", options={"n_pairs": 3}, random_state=0
    ),
    ErrorControlledSelector(ReliefF(n_neighbors=3), method="knockoff", level=0.5, random_state=0),
    EnsembleWeighting(
        RedundancyFilter(ReliefF(n_neighbors=3), threshold=0.9), n_estimators=3, random_state=0
    ),
    CrossValidatedSelector(IterativeElimination(FisherScore(), step=0.5), cv=2),
    IterativeElimination(RReliefF(n_neighbors=3)),
]
#: Everything that is fitted, by name.
ESTIMATORS = {str(entry): entry.make() for entry in ALL_ENTRIES} | {
    " ".join(str(each).split()): each for each in (*CLASSIFIERS, *FOR_NUMBERS, *EXTRACTORS, *OTHERS)
}

# Columns: n values each, of a generator of random numbers.

_LARGEST, _SMALLEST = np.finfo(np.float64).max, 5e-324


def _one_of(*values):
    return lambda n, rng: rng.choice(np.array(values), n)


def _one_other(value, other):
    def column(n, rng):
        found = np.full(n, value)
        found[rng.integers(n)] = other
        return found

    return column


def _magnitudes(low, high):
    return lambda n, rng: rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(low, high, n)


def _with_holes(column):
    return lambda n, rng: np.where(rng.uniform(size=n) < 0.5, np.nan, column(n, rng))


COLUMNS = {
    "normal": lambda n, rng: rng.normal(size=n),
    "ties": lambda n, rng: rng.integers(0, 3, n).astype(np.float64),
    "flags": _one_of(0.0, 1.0),
    "constant": lambda n, rng: np.full(n, rng.normal()),
    "zeros": lambda n, rng: np.zeros(n),
    "signed zeros": _one_of(0.0, -0.0),
    "one other": _one_other(0.0, 1.0),
    "least": _one_other(0.0, _SMALLEST),
    "denormal": lambda n, rng: rng.integers(-9, 10, n) * _SMALLEST,
    "small": _magnitudes(-308, -290),
    "small of float32": _magnitudes(-45, -37),
    "mixed": _magnitudes(-300, 300),
    "one huge": _one_other(1.0, 1e300),
    "large": _magnitudes(150, 308),
    "large of float32": _magnitudes(18, 38.5),
    "largest": _one_of(-_LARGEST, _LARGEST),
    "largest and 0": _one_of(0.0, _LARGEST),
    "large and least": _one_of(-_LARGEST, _SMALLEST, 0.0),
    "next to 1": _one_of(1.0, np.nextafter(1.0, 2.0)),
    "next to largest": _one_of(np.nextafter(_LARGEST, 0.0), _LARGEST),
    "far away": lambda n, rng: 1e15 + rng.integers(0, 3, n),
    "infinite": _one_other(1.0, np.inf),
    "minus infinite": _one_other(1.0, -np.inf),
    "missing": _one_other(1.0, np.nan),
    "all missing": lambda n, rng: np.full(n, np.nan),
    "holes": _with_holes(lambda n, rng: rng.normal(size=n)),
    "large with holes": _with_holes(_magnitudes(306, 308)),
    "largest with holes": _with_holes(_one_of(-_LARGEST, _LARGEST)),
    "small with holes": _with_holes(_magnitudes(-308, -290)),
}
#: With these a fit is refused, or values are missing.
NOT_FINITE = (
    "infinite",
    "minus infinite",
    "missing",
    "all missing",
    *(name for name in COLUMNS if "holes" in name),
)


# Numbers as they are kept, and where.


def _whole(dtype):
    limits = np.iinfo(dtype)

    def converted(X):
        # The largest int64 is no float: the clipped value may be one more than it.
        inside = np.clip(np.nan_to_num(X), float(limits.min), np.nextafter(float(limits.max), 0.0))
        return inside.astype(dtype)

    return converted


def _float(dtype):
    def converted(X):
        with np.errstate(over="ignore", under="ignore"):
            return X.astype(dtype)

    return converted


def _without_holes(X):
    return np.nan_to_num(X, posinf=np.inf, neginf=-np.inf)


KINDS = {
    "float64": _float(np.float64),
    "float32": _float(np.float32),
    "float16": _float(np.float16),
    "longdouble": _float(np.longdouble),
    "other byte order": _float(np.dtype(np.float64).newbyteorder()),
    "int64": _whole(np.int64),
    "int8": _whole(np.int8),
    "uint8": _whole(np.uint8),
    "uint64": _whole(np.uint64),
    "bool": lambda X: X > 0.5,
    "object": lambda X: X.astype(object),
    "None where missing": lambda X: np.where(np.isnan(X), None, X.astype(object)),
    "words": lambda X: X.astype(str).astype(object),
    "complex": lambda X: X.astype(np.complex128),
    "list": lambda X: X.tolist(),
    "data frame": lambda X: pd.DataFrame(X, columns=[f"feature {j}" for j in range(X.shape[1])]),
    "sparse": lambda X: scipy.sparse.csr_matrix(_without_holes(X)),
    "sparse columns": lambda X: scipy.sparse.csc_array(_without_holes(X)),
    "sparse triplets": lambda X: scipy.sparse.coo_array(_without_holes(X)),
}


def _every_other(values):
    wide = np.zeros([2 * size for size in values.shape], values.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in values.shape)]
    view[...] = values
    return view


def _backwards(values):
    return np.flip(np.flip(values).copy())


def _read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def _mapped(values):
    if values.dtype.hasobject:
        return values
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, values)
        return np.load(path, mmap_mode="r")


def _unaligned(values):
    if values.dtype.hasobject:
        return values
    room = np.zeros(values.nbytes + 1, np.uint8)
    view = room[1:].view(values.dtype).reshape(values.shape)
    view[...] = values
    return view


LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "transposed": lambda values: values.T.copy().T,
    "strided": _every_other,
    "backwards": _backwards,
    "read-only": _read_only,
    "memory map": _mapped,
    "not aligned": _unaligned,
}

#: What the classes 0, 1, … are called.
LABELS = {
    "int": lambda codes: codes,
    "negative": lambda codes: -3 * codes,
    "int8": lambda codes: codes.astype(np.int8),
    "uint64": lambda codes: codes.astype(np.uint64) + np.uint64(2**63),
    "float": lambda codes: codes - 2.0,
    "large float": lambda codes: codes * 1e300,
    "fractions": lambda codes: codes + 0.5,
    "infinite": lambda codes: np.where(codes == 0, np.inf, codes),
    "missing": lambda codes: np.where(codes == 0, np.nan, codes),
    "bool": lambda codes: codes > 0,
    "str": lambda codes: np.array([f"class {code}" for code in codes]),
    "empty str": lambda codes: np.array(["", " ", "ä", "\n", "nan", "0", "1"])[codes % 7],
    "bytes": lambda codes: np.array([f"class {code}".encode() for code in codes]),
    "series": lambda codes: pd.Series(codes, index=codes[::-1]).astype("category"),
    "object": lambda codes: np.array([f"class {code}" for code in codes], dtype=object),
    "mixed objects": lambda codes: np.array(["a", 1, 2.5, "b", None, True, 3], dtype=object)[codes % 7],
    "list": lambda codes: codes.tolist(),
    "flag objects": lambda codes: np.array([False, True], dtype=object)[codes % 2],
}
SAMPLE_WEIGHTS = {
    "none": None,
    "ones": lambda n, rng: np.ones(n),
    "flags": lambda n, rng: rng.integers(0, 2, n),
    "uniform": lambda n, rng: rng.uniform(size=n),
    "least": lambda n, rng: np.full(n, _SMALLEST),
    "mixed": lambda n, rng: 10.0 ** rng.uniform(-300, 300, n),
    "largest": lambda n, rng: np.full(n, _LARGEST),
    "very different": lambda n, rng: rng.choice([1e16, 3.0, 1e-10], n),
    "one of many": lambda n, rng: np.where(np.arange(n) == rng.integers(n), 1e40, 1e-40),
    "copies": lambda n, rng: rng.integers(1, 10**9, n),
}


@dataclass(frozen=True)
class Case:
    """A table, how it is kept, and how an estimator is asked; :func:`cases` draws them."""

    n_samples: int = 6
    columns: tuple[str, ...] = ("normal",)
    kind: str = "float64"
    layout: str = "C"
    n_classes: int = 2
    #: Whether a class has one sample only.
    alone: bool = False
    labels: str = "int"
    #: How often every sample is there.
    times: int = 1
    #: Whether every column is there twice.
    twins: bool = False
    sample_weight: str = "none"
    #: Whether samples come in two batches, and in pairs.
    batches: bool = False
    groups: bool = False
    class_weight: str | None = None
    #: Whether the first feature is a category.
    categorical: bool = False
    scale: str | None = "range"
    weighted: str | bool = False
    n_jobs: int | None = None
    seed: int = 0

    def __repr__(self) -> str:
        """As it is written in an ``@example``: what is as usual is left out."""
        told = [
            f"{each.name}={value!r}"
            for each in fields(self)
            if (value := getattr(self, each.name)) != each.default
        ]
        return f"Case({', '.join(told)})"

    def table(self) -> Any:
        """The samples."""
        return self._table_of(self.columns, self.seed)

    def others(self) -> Any:
        """As many others, with the columns in another order: what is small here may be large there."""
        return self._table_of(self.columns[1:] + self.columns[:1], self.seed + 4)

    def _table_of(self, columns: tuple[str, ...], seed: int) -> Any:
        rng = np.random.default_rng(seed)
        X = np.column_stack([COLUMNS[name](self.n_samples, rng) for name in columns])
        X = KINDS[self.kind](np.tile(X, (self.times, 2 if self.twins else 1)))
        return LAYOUTS[self.layout](X) if isinstance(X, np.ndarray) else X

    @property
    def n_in_all(self) -> int:
        """Number of samples, copies included."""
        return self.n_samples * self.times

    def codes(self) -> np.ndarray:
        """The classes, as whole numbers."""
        n, rng = self.n_in_all, np.random.default_rng(self.seed + 1)
        codes = rng.integers(0, self.n_classes, n)
        codes[: self.n_classes] = np.arange(self.n_classes)[:n]
        if self.alone:
            codes[codes == codes[0]] = (codes[0] + 1) % self.n_classes
            codes[0] = self.n_classes
        return codes

    def classes(self) -> Any:
        """The classes, as they are called."""
        labels = LABELS[self.labels](self.codes())
        return LAYOUTS[self.layout](labels) if isinstance(labels, np.ndarray) else labels

    def target(self) -> np.ndarray:
        """Numbers instead of classes: those of a column of their own."""
        rng = np.random.default_rng(self.seed + 2)
        name = sorted(COLUMNS)[self.seed % len(COLUMNS)]
        return LAYOUTS[self.layout](COLUMNS[name](self.n_in_all, rng))

    def told(self) -> dict[str, np.ndarray]:
        """What a fit is told beside the classes."""
        make, told = SAMPLE_WEIGHTS[self.sample_weight], {}
        if make is not None:
            counts = make(self.n_in_all, np.random.default_rng(self.seed + 3))
            told["sample_weight"] = LAYOUTS[self.layout](counts)
        if self.batches:
            told["batches"] = np.arange(self.n_in_all) % 2
        if self.groups:
            told["groups"] = np.arange(self.n_in_all) // 2
        return told


def _mostly(usual, others):
    return st.one_of(st.just(usual), st.sampled_from(sorted(others, key=str)))


def cases(most_samples: int = 12) -> st.SearchStrategy[Case]:
    """Tables of few samples and features."""
    finite = sorted(set(COLUMNS) - set(NOT_FINITE))
    columns = st.lists(st.sampled_from(finite), min_size=1, max_size=5)
    gaps = st.lists(
        st.sampled_from(sorted(set(COLUMNS) - {"infinite", "minus infinite"})), min_size=1, max_size=4
    )
    rarely = st.sampled_from([False, False, False, True])
    return st.builds(
        Case,
        n_samples=st.one_of(st.integers(1, 3), *2 * [st.integers(2, most_samples)]),
        columns=st.one_of(
            columns,
            columns,
            columns,
            gaps,
            st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4),
        ).map(tuple),
        kind=_mostly("float64", KINDS),
        layout=_mostly("C", LAYOUTS),
        n_classes=st.one_of(st.just(2), st.integers(1, 6)),
        alone=st.booleans(),
        labels=_mostly("int", LABELS),
        times=st.sampled_from([1, 1, 1, 2, 5]),
        twins=rarely,
        batches=rarely,
        groups=rarely,
        class_weight=_mostly(None, [None, "balanced"]),
        categorical=rarely,
        sample_weight=_mostly("none", SAMPLE_WEIGHTS),
        scale=_mostly("range", ["range", "standard", None]),
        weighted=st.sampled_from([False, True, "manhattan", "euclidean"]),
        n_jobs=st.sampled_from([None, 2]),
        seed=st.integers(0, 2**16),
    )


# What must hold.


def answer_or_clear_error(estimator: Any, case: Case) -> str:
    """Fit an estimator, and ask it all it offers; returns what came of it: "fitted", or the error."""
    estimator = _as_asked(estimator, case)
    X, others = case.table(), case.others()
    y = case.target() if _for_numbers(estimator) and case.seed % 3 else case.classes()
    told = {name: value for name, value in case.told().items() if has_fit_parameter(estimator, name)}
    given = (X, others, y, *told.values())
    before = [_bits(each) for each in given]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for wrong in (RuntimeWarning, DeprecationWarning, FutureWarning, np.exceptions.ComplexWarning):
            warnings.simplefilter("error", wrong)
        try:
            outcome = _fitted_and_asked(estimator, X, others, y, told)
            if hasattr(estimator, "partial_fit"):
                _fitted_in_parts(clone(estimator), X, others, y)
        finally:
            assert [_bits(each) for each in given] == before, "the input was changed"
    return outcome


def _fitted_and_asked(estimator: Any, X: Any, others: Any, y: Any, told: dict[str, Any]) -> str:
    """Fit, and ask of the samples of the fit and of others."""
    try:
        estimator.fit(X, y, **told)
    except (ValueError, TypeError) as error:
        assert_clear(error)
        return f"{type(error).__name__}: {error}"
    assert_whole(estimator)
    for name, asked in _ASKED.items():
        if not hasattr(estimator, name):
            continue
        for samples in (X, others):
            try:
                found = asked(estimator, samples, y)
            except (ValueError, TypeError) as error:
                assert_clear(error)
                continue
            assert_numbers(name, found, samples)
    return "fitted"


def _fitted_in_parts(estimator: Any, X: Any, others: Any, y: Any) -> None:
    """Fit to a stream: the samples, some of them once more, others."""
    for samples, labels in ((X, y), (X[:1], y[:1]), (others, y)) if isinstance(X, np.ndarray) else ():
        try:
            estimator.partial_fit(samples, labels)
        except (ValueError, TypeError) as error:
            assert_clear(error)
            continue
        if hasattr(estimator, "feature_weights_"):
            assert_whole(estimator)


_ASKED = {
    "transform": lambda fitted, X, y: fitted.transform(X),
    "inverse_transform": lambda fitted, X, y: fitted.inverse_transform(fitted.transform(X)),
    "margins": lambda fitted, X, y: fitted.margins(X, y),
    "predict": lambda fitted, X, y: fitted.predict(X),
    "predict_proba": lambda fitted, X, y: fitted.predict_proba(X),
    "decision_function": lambda fitted, X, y: fitted.decision_function(X),
    "hyperplane_distances": lambda fitted, X, y: fitted.hyperplane_distances(X),
    "expected_distances": lambda fitted, X, y: fitted.expected_distances(X),
    "assignment_loss": lambda fitted, X, y: fitted.assignment_loss(X),
    "score": lambda fitted, X, y: fitted.score(X, y),
    **{
        name: lambda fitted, X, y, name=name: getattr(fitted, name)
        for name in ("metric_", "pvalues_", "qvalues_", "selection_probability_")
    },
}


def _as_asked(estimator: Any, case: Case) -> Any:
    """The estimator with what the case says of the parameters that all have, or what is inside of it."""
    estimator = clone(estimator)
    known = estimator.get_params()
    wanted = {"weighted": case.weighted, "n_jobs": case.n_jobs}
    inner = {"scale": case.scale, "class_weight": case.class_weight}
    if case.categorical:
        inner["categorical_features"] = [0]
    wanted |= {name if name in known else f"estimator__{name}": value for name, value in inner.items()}
    return estimator.set_params(**{name: value for name, value in wanted.items() if name in known})


def _for_numbers(estimator: Any) -> bool:
    return getattr(get_tags(estimator), "continuous_target", False)


def _bits(values: Any) -> Any:
    if scipy.sparse.issparse(values):
        cells = values.tocoo()
        return _bits(cells.row), _bits(cells.col), _bits(values.data)
    if isinstance(values, np.ndarray) and not values.dtype.hasobject:
        # The padding of long doubles says nothing.
        return (values.astype(np.float64) if values.dtype == np.longdouble else values).tobytes()
    return repr(np.asarray(values, dtype=object).tolist())


#: Errors of conversions, which NumPy words well enough: they name the value.
_OF_CONVERSIONS = ("could not convert string to float", "float() argument must be")


def assert_clear(error: Exception) -> None:
    """The error was raised on purpose, by us or by scikit-learn's checks, and is a sentence."""
    text = str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    raised = "".join(linecache.getline(last.filename, line) for line in range(last.lineno, last.lineno + 1))
    on_purpose = "raise" in raised and ("highrelief" in last.filename or "sklearn" in last.filename)
    assert on_purpose or text.startswith(_OF_CONVERSIONS), (
        f"raised by accident: {last.filename}:{last.lineno} {text}"
    )
    assert len(text.split()) >= 4, f"no sentence: {text!r}"


#: Attributes that say by NaN that there is nothing to say, as their documentation does.
NAN_BY_DESIGN = (
    "residual_",
    "kkt_residual_",
    "beta_",
    "alpha_",
    "similarity_",
    "outlier_proba_",
    "cv_scores_",
)


def assert_whole(estimator: Any) -> None:
    """What is fitted are numbers, as many as there are features."""
    n_features = estimator.n_features_in_
    for name in ("feature_weights_", "feature_importances_"):
        if hasattr(estimator, name):
            weights = getattr(estimator, name)
            assert weights.shape == (n_features,)
            assert np.isfinite(weights).all(), f"{name}: {weights}"
    if hasattr(estimator, "ranking_"):
        assert estimator.ranking_.min() >= 1
        assert estimator.ranking_.max() <= n_features
        assert estimator.get_support().shape == (n_features,)
    for name, value in vars(estimator).items():
        if name.endswith("_") and not name.startswith("_") and name not in NAN_BY_DESIGN:
            if isinstance(value, float | np.floating):
                assert not np.isnan(value), f"{name} is {value}"
            elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
                assert not np.isnan(value).any(), f"{name}: {value}"


def assert_numbers(name: str, found: Any, X: Any) -> None:
    """What was asked for has numbers only, but where X has none."""
    values = found.data if scipy.sparse.issparse(found) else np.asarray(found)
    if values.dtype.kind != "f":
        return
    given = X.data if scipy.sparse.issparse(X) else np.asarray(X)
    has_holes = (given.dtype.kind == "f" and np.isnan(given).any()) or given.dtype.hasobject
    if name not in ("transform", "inverse_transform") or not has_holes:
        assert not np.isnan(values).any(), f"{name}: {values}"
