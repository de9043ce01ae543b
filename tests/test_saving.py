"""``highrelief.save`` and ``load``: the same estimator with the same bits, and nothing else gets in."""

import ast
import io
import json
import os
import pickle
import re
import sys
import zipfile

import numpy as np
import pytest
import skops.io
from processes import run
from registry import CLASSIFIERS, ENTRIES, EXTRACTORS, FOR_NUMBERS, THOROUGH, continuous_table
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import highrelief
from highrelief import (
    FREL,
    IM4E,
    CrossValidatedSelector,
    EnsembleWeighting,
    ErrorControlledSelector,
    FisherScore,
    HKNNClassifier,
    IRelief,
    IterativeElimination,
    OnlineIRelief,
    RedundancyFilter,
    ReliefF,
)
from highrelief.base.selector import takes_continuous_target

X, Y = continuous_table()
NEW, _ = continuous_table(seed=1)
#: Members of the registry whose files differ in what is in them, not in numbers alone.
CASES = {str(entry): entry.make for entry in ENTRIES if entry.plain}
CASES |= {str(each): lambda each=each: clone(each) for each in (*CLASSIFIERS, *EXTRACTORS, *FOR_NUMBERS)}
CASES |= {
    "pipeline": lambda: make_pipeline(
        StandardScaler(),
        IRelief(weighted=True),
        KNeighborsClassifier(3, metric="manhattan", algorithm="brute"),
    ),
    "pipeline of a support vector machine": lambda: make_pipeline(FREL(alpha=1e-3), SVC()),
    "search": lambda: GridSearchCV(
        make_pipeline(ReliefF(), LogisticRegression()),
        {"relieff__n_neighbors": [3, 5]},
        n_jobs=1,
        cv=StratifiedKFold(2, shuffle=True, random_state=0),
    ),
    "folds": lambda: CrossValidatedSelector(FisherScore(), cv=StratifiedKFold(3)),
    "ensemble of eliminations": lambda: EnsembleWeighting(
        IterativeElimination(ReliefF(n_neighbors=3), step=0.5), n_estimators=2, random_state=0
    ),
    "filter around error control": lambda: RedundancyFilter(
        ErrorControlledSelector(ReliefF(), n_permutations=9, level=0.9, random_state=0)
    ),
    "stability selection": lambda: ErrorControlledSelector(
        ReliefF(), method="stability", control="fwer", level=0.9, random_state=0
    ),
    "knockoffs": lambda: ErrorControlledSelector(ReliefF(), method="knockoff", level=0.9, random_state=0),
    "a generator": lambda: EnsembleWeighting(
        FisherScore(), n_estimators=2, random_state=np.random.RandomState(3)
    ),
}


def saved_and_loaded(estimator, folder):
    return highrelief.load(highrelief.save(estimator, folder / "model.skops"))


def contents(value):  # noqa: PLR0911 (one for each type)
    """All that an object is made of, as nested tuples with the bytes of its arrays."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return "array", value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, np.ndarray):
        return "objects", value.shape, contents(value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value).__name__, *(contents(each) for each in value)
    if isinstance(value, dict):
        value = {key: each for key, each in value.items() if "_time" not in str(key)}
        return "dict", *sorted((str(key), contents(each)) for key, each in value.items())
    if isinstance(value, np.random.RandomState):
        return "random", contents(value.get_state())
    if isinstance(value, (float, np.floating)):
        return type(value).__name__, float(value).hex()
    if hasattr(value, "__getstate__") and type(value).__module__.startswith("highrelief"):
        return type(value).__name__, contents(value.__getstate__())
    if isinstance(value, BaseEstimator):
        return type(value).__name__, contents(value.get_params(deep=False))
    return type(value).__name__, str(value)


def answers(estimator, table):
    """What a fitted estimator says of a table, as bytes."""
    given = {}
    for name in ("transform", "predict", "predict_proba", "decision_function"):
        if hasattr(estimator, name):
            given[name] = contents(np.asarray(getattr(estimator, name)(table)))
    return given


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::UserWarning")  # some cases find nothing in so small a table
def test_the_same_bits(name, tmp_path):
    estimator = CASES[name]()
    unfitted = saved_and_loaded(estimator, tmp_path)
    assert type(unfitted) is type(estimator)
    assert contents(unfitted.get_params(deep=False)) == contents(estimator.get_params(deep=False))
    target = X[:, 0] + Y if takes_continuous_target(estimator) else Y
    estimator.fit(X, target)
    loaded = saved_and_loaded(estimator, tmp_path)
    assert contents(vars(loaded)) == contents(vars(estimator))
    assert answers(loaded, NEW) == answers(estimator, NEW) != {}
    # Once more: what was laid out for the answers changes nothing.
    assert answers(saved_and_loaded(estimator, tmp_path), NEW) == answers(estimator, NEW)
    if getattr(estimator, "random_state", 0) is not None:
        assert contents(vars(unfitted.fit(X, target))) == contents(vars(loaded))


def test_every_public_estimator_is_among_the_cases():
    assert {type(make()).__name__ for make in CASES.values()} >= set(highrelief.__all__)


@pytest.mark.parametrize("kind", ["missing", "names and words", "float32", "sparse"])
def test_tables_of_all_kinds(kind, tmp_path):
    pd = pytest.importorskip("pandas")
    sparse = pytest.importorskip("scipy.sparse")
    words = np.array(["no", "yes", "perhaps"], dtype=object)[Y]
    holes = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.1, np.nan, X)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(c=pd.Categorical(words))
    estimator, table, target = {
        "missing": (IM4E(), holes, Y),
        "names and words": (ReliefF(categorical_features=["c"]), frame, words),
        "float32": (HKNNClassifier(), X.astype(np.float32), words),
        "sparse": (IRelief(sigma=1.0), sparse.csr_array(X), Y),
    }[kind]
    estimator.fit(table, target)
    before = answers(estimator, table) if kind != "sparse" else estimator.transform(table).toarray().tobytes()
    loaded = saved_and_loaded(estimator, tmp_path)
    after = answers(loaded, table) if kind != "sparse" else loaded.transform(table).toarray().tobytes()
    assert after == before
    assert loaded.classes_.tolist() == estimator.classes_.tolist()
    assert loaded.classes_.dtype == estimator.classes_.dtype


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, {"sigma": 0.3, "scale": "standard", "margin": "prior"}], ids=str)
def test_a_stream_goes_on_in_another_process_to_the_same_bits(parameters, tmp_path):
    batches = [continuous_table(30, seed=seed) for seed in range(6)]
    stream = OnlineIRelief(buffer_size=25, random_state=0, **parameters)
    for each in batches[:3]:
        stream.partial_fit(*each)
    path = highrelief.save(stream, tmp_path / "stream.skops")
    np.savez(tmp_path / "batches.npz", *(part for each in batches[3:] for part in each))
    for each in batches[3:]:
        stream.partial_fit(*each)
    weights = run(f"""
import json
import numpy as np
import highrelief
stream = highrelief.load({str(path)!r})
parts = list(np.load({str(tmp_path / "batches.npz")!r}).values())
for X, y in zip(parts[::2], parts[1::2]):
    stream.partial_fit(X, y)
print(json.dumps([weight.hex() for weight in stream.feature_weights_.tolist()]))
""")
    assert weights == [weight.hex() for weight in stream.feature_weights_.tolist()]


class TestWhatIsRefused:
    """Nothing of a file is built before all of it is known to be harmless."""

    def rewritten(self, path, change, name="schema.json"):
        """Return a file in which one part is changed."""
        with zipfile.ZipFile(path) as archive:
            parts = {each: archive.read(each) for each in archive.namelist()}
        parts[name] = json.dumps(change(json.loads(parts[name]))).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for each, content in parts.items():
                archive.writestr(each, content)
        return path

    @pytest.fixture
    def path(self, tmp_path):
        return highrelief.save(FisherScore().fit(X, Y), tmp_path / "model.skops")

    @pytest.mark.parametrize(
        ("module", "name"),
        [
            ("os", "system"),
            ("builtins", "eval"),
            ("subprocess", "Popen"),
            # Of ours, but not what estimators are made of.
            ("highrelief.io.files", "atomic_write"),
            ("highrelief._kernels.cache", "KernelCache"),
            ("highrelief.methods.fisher.pickle", "loads"),
        ],
    )
    @pytest.mark.parametrize("loader", ["ObjectNode", "FunctionNode", "TypeNode"])
    def test_unknown_types_are_named(self, path, module, name, loader):
        def change(schema):
            attributes = schema["content"]["content"]
            attributes["scale"] = {
                "__class__": name,
                "__module__": module,
                "__loader__": loader,
                "__id__": 1,
                "content": {
                    "__class__": "str",
                    "__module__": "builtins",
                    "__loader__": "JsonNode",
                    "content": "1",
                },
            }
            return schema

        with pytest.raises(ValueError, match=rf"(?s)model\.skops .*: {module}\.{name}\. If you know"):
            highrelief.load(self.rewritten(path, change))

    def test_a_type_of_another_package(self, tmp_path):
        estimator = make_pipeline(FisherScore(), Foreign())
        name = f"{Foreign.__module__}.Foreign"
        with pytest.warns(UserWarning, match=re.escape(f"trusted: {name}.")):
            path = highrelief.save(estimator, tmp_path / "model.skops")
        with pytest.raises(ValueError, match=re.escape(f"nothing of it was built: {name}.")):
            highrelief.load(path)
        for trusted in ([name], [Foreign]):
            assert isinstance(highrelief.load(path, trusted=trusted)[-1], Foreign)
        with pytest.raises(TypeError, match="trusted=True must be a list"):
            highrelief.load(path, trusted=True)

    def test_trees_of_nearest_neighbors_need_a_word(self, tmp_path):
        """What is in them is followed without a check: skops does not know them either."""
        pipeline = make_pipeline(ReliefF(), KNeighborsClassifier(3, algorithm="kd_tree")).fit(X, Y)
        with pytest.warns(UserWarning, match=r"_kd_tree\.KDTree"):
            path = highrelief.save(pipeline, tmp_path / "model.skops")
        with pytest.raises(ValueError, match=r"_kd_tree\.KDTree") as refused:
            highrelief.load(path)
        named = ast.literal_eval(str(refused.value).rpartition("trusted=")[2].removesuffix(" loads it."))
        assert answers(highrelief.load(path, trusted=named), NEW) == answers(pipeline, NEW)

    def test_a_pickle_is_not_read(self, tmp_path):
        path = tmp_path / "model.skops"
        path.write_bytes(pickle.dumps(Explosive(str(tmp_path / "was here"))))
        with pytest.raises(ValueError, match=r"model\.skops was not written by highrelief\.save"):
            highrelief.load(path)
        assert not (tmp_path / "was here").exists()

    def test_an_array_of_pickles_is_not_read(self, tmp_path):
        path = highrelief.save(FisherScore().fit(X, Y), tmp_path / "model.skops")
        array = io.BytesIO()
        np.save(array, np.array([Explosive(str(tmp_path / "was here"))], dtype=object), allow_pickle=True)
        with zipfile.ZipFile(path) as archive:
            parts = {each: archive.read(each) for each in archive.namelist()}
        arrays = [name for name in parts if name.endswith(".npy")]
        assert arrays
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in parts.items():
                archive.writestr(name, array.getvalue() if name in arrays else content)
        with pytest.raises(ValueError, match=r"model\.skops is damaged: .*pickle"):
            highrelief.load(path)
        assert not (tmp_path / "was here").exists()

    @pytest.mark.parametrize("damage", ["empty", "cut", "text", "plain skops", "no estimator", "nonsense"])
    def test_other_files(self, damage, path):
        whole = path.read_bytes()
        if damage == "nonsense":
            self.rewritten(path, lambda _: {"__class__": 3})
        elif damage == "no estimator":
            self.rewritten(
                path,
                lambda old: json.loads(zipfile.ZipFile(io.BytesIO(skops.io.dumps([1]))).read("schema.json")),
            )
        else:
            path.write_bytes(
                {
                    "empty": b"",
                    "cut": whole[: len(whole) // 2],
                    "text": b"weights: 1 2 3",
                    "plain skops": skops.io.dumps(FisherScore()),
                }[damage]
            )
        with pytest.raises(
            ValueError, match=r"^model\.skops (was not written by|is damaged|holds no estimator)"
        ):
            highrelief.load(path)

    @pytest.mark.parametrize(
        ("estimator", "spoil"),
        [
            (FisherScore(), lambda e: vars(e).update(feature_weights_=np.ones(5))),
            (FisherScore(), lambda e: vars(e).update(feature_weights_=[1.0] * 6)),
            (ReliefF(), lambda e: vars(e).update(n_features_in_=7)),
            (ReliefF(), lambda e: vars(e).pop("n_features_in_")),
            (IRelief(), lambda e: vars(e).update(_scaling=e._scaling.of(slice(0, 3)))),
            (OnlineIRelief(), lambda e: vars(e._reservoir).update(codes=e._reservoir.codes + 5)),
            (OnlineIRelief(), lambda e: vars(e._reservoir).update(codes=e._reservoir.codes - 1)),
            (OnlineIRelief(), lambda e: vars(e._reservoir).update(rows=e._reservoir.rows[:, :2])),
            (OnlineIRelief(), lambda e: vars(e).update(_nu=np.ones(2))),
            (OnlineIRelief(), lambda e: vars(e).update(_class_counts=np.ones(1, int))),
            (IM4E(), lambda e: vars(e._references).update(_position=e._references._position + 1000)),
            (IM4E(), lambda e: vars(e._references).update(_codes=e._references._codes + 1000)),
            (IM4E(), lambda e: vars(e._references).update(_sample_weight=e._references._sample_weight[:1])),
            (IM4E(), lambda e: vars(e._references).update(_w=e._references._w[:1])),
            (IM4E(), lambda e: vars(e._references).update(n_classes=1000)),
            (HKNNClassifier(), lambda e: vars(e._references).update(_starts=e._references._starts * 9)),
            (HKNNClassifier(), lambda e: vars(e._references).update(_rows=e._references._rows[:3])),
            (
                HKNNClassifier(),
                lambda e: vars(e._references).update(_sample_weight=e._references._sample_weight[:3]),
            ),
            (HKNNClassifier(), lambda e: vars(e._references).update(_ignored=np.array([99]))),
            (HKNNClassifier(), lambda e: vars(e).update(_references=ReliefF())),
            (HKNNClassifier(), lambda e: put(e._references._sample_weight, np.nan)),
            (HKNNClassifier(), lambda e: put(e._references._sample_weight, 0.0)),
            (HKNNClassifier(), lambda e: put(e._references._sample_weight, -1.0)),
            (HKNNClassifier(), lambda e: put(e._references._sample_weight, np.inf)),
            (HKNNClassifier(), lambda e: put(e._references._rows, np.nan)),
            (HKNNClassifier(), lambda e: put(e._references._center, np.inf)),
            (HKNNClassifier(), lambda e: vars(e._references).update(_exponent=10**6)),
            (
                HKNNClassifier(),
                lambda e: vars(e._references).update(_rows=np.asfortranarray(e._references._rows)),
            ),
            (
                HKNNClassifier(),
                lambda e: vars(e._references).update(_starts=e._references._starts.astype("i4")),
            ),
            (
                HKNNClassifier(),
                lambda e: vars(e._references).update(
                    _sample_weight=e._references._sample_weight.astype(">f8")
                ),
            ),
            (IM4E(), lambda e: put(e._references._w, np.nan)),
            (IM4E(), lambda e: put(e._references._given, np.inf)),
            (IM4E(), lambda e: put(e._references._sample_weight, np.nan)),
            (IM4E(), lambda e: vars(e._references).update(_sigma=np.nan)),
            (OnlineIRelief(), lambda e: put(e._w, np.nan)),
            (OnlineIRelief(), lambda e: put(e._reservoir.rows, np.nan)),
            (OnlineIRelief(), lambda e: vars(e).update(sigma_=-1.0)),
            (OnlineIRelief(), lambda e: vars(e).update(_generator=far_out())),
            (ReliefF(), lambda e: put(e._scaling.divisor, 0.0)),
            (ReliefF(), lambda e: put(e._scaling.offset, np.nan)),
            (ReliefF(), lambda e: put(e.feature_weights_, np.nan)),
        ],
    )
    @pytest.mark.parametrize("inside", [False, True])
    def test_parts_that_do_not_fit_together(self, estimator, spoil, inside, tmp_path):
        """Compiled code would read, or write, beside its arrays."""
        fitted = (
            clone(estimator).partial_fit(X, Y)
            if hasattr(estimator, "_learn_batch")
            else clone(estimator).fit(X, Y)
        )
        spoil(fitted)
        path = highrelief.save(make_pipeline(fitted) if inside else fitted, tmp_path / "model.skops")
        with pytest.raises(ValueError, match=r"^model\.skops is damaged: "):
            highrelief.load(path)

    def test_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            highrelief.load(tmp_path / "none.skops")

    @pytest.mark.parametrize("value", [3, FisherScore, [FisherScore()]], ids=str)
    def test_only_estimators_are_saved(self, value, tmp_path):
        with pytest.raises(TypeError, match="save needs an estimator, not"):
            highrelief.save(value, tmp_path / "model.skops")

    @pytest.mark.parametrize(("version", "age"), [("0.0.1", "older"), ("99.0", "newer")])
    def test_other_versions_say_so(self, path, version, age):
        self.rewritten(path, lambda about: about | {"version": version}, "highrelief.json")
        with pytest.warns(
            UserWarning, match=f"written by highrelief {version}, which is {age} than this version"
        ):
            assert isinstance(highrelief.load(path), FisherScore)

    def test_a_format_to_come_is_refused(self, path):
        self.rewritten(path, lambda about: about | {"version": "99.0", "format": 2}, "highrelief.json")
        with pytest.raises(ValueError, match=r"in a newer way .* pip install 'highrelief>=99\.0'"):
            highrelief.load(path)

    @pytest.mark.parametrize(
        "about",
        [
            {"format": 2, "version": "1'; rm -rf ~; '"},
            {"format": 1, "version": "\x1b[2J"},
            {"format": 1, "version": "odd"},
            {"format": 1, "version": 1},
            {"format": 1, "version": "9" * 5000},
            {"format": 1e400, "version": "0.1.0"},
            {"format": True, "version": "0.1.0"},
            {"format": "1", "version": "0.1.0"},
            {"format": 1, "version": "0.1.0", "more": "x" * 2000},
            [],
            None,
        ],
        ids=lambda about: ascii(about)[:40],
    )
    def test_who_wrote_it_is_checked(self, path, about):
        self.rewritten(path, lambda _: about, "highrelief.json")
        with pytest.raises(ValueError, match=r"^model\.skops was not written by highrelief\.save"):
            highrelief.load(path)


def put(array, value):
    """Put a value into the middle of an array."""
    array.flat[array.size // 2] = value


def far_out():
    """A generator of random numbers that would read far beyond its state."""
    generator = np.random.RandomState(0)
    state = generator.get_state(legacy=False)
    state["state"]["pos"] = 10**6
    generator.set_state(state)
    return generator


def changed(array):
    """Arrays that a file may contain in the place of one."""
    array = np.atleast_1d(array)
    yield array[:0]
    yield array.astype({"f": np.float16, "U": "U1"}.get(array.dtype.kind, np.int16))
    yield np.repeat(array, 2, axis=0)
    yield array.reshape(-1)[:, np.newaxis]
    values = [np.nan, np.inf, -1.0, 0.0, 1e308] if array.dtype.kind == "f" else [-1, -(2**40), 2**40, 2**62]
    for value in values if array.size and array.dtype.kind in "fi" else ():
        other = array.copy()
        put(other, value)
        yield other


# Not those with estimators of others inside: what these read from files is theirs to check.
@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(("pipeline", "search"))])
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_changed_array_ends_the_process(name, tmp_path):
    """One array of the file after another: it is refused, or used without reading beside it."""
    estimator = CASES[name]()
    target = X[:, 0] + Y if takes_continuous_target(estimator) else Y
    fitted = estimator.partial_fit(X, Y) if hasattr(estimator, "_learn_batch") else estimator.fit(X, target)
    path = highrelief.save(fitted, tmp_path / "model.skops")
    with zipfile.ZipFile(path) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    arrays = [each for each in parts if each.endswith(".npy")]
    assert arrays
    changes = [
        (each, other)
        for each in arrays
        for other in changed(np.load(io.BytesIO(parts[each]), allow_pickle=False))
    ]
    # One in so many, other ones for another estimator.
    one_in = 1 if THOROUGH else 10
    for each, other in changes[list(CASES).index(name) % one_in :: one_in]:
        content = io.BytesIO()
        np.save(content, other)
        with zipfile.ZipFile(path, "w") as archive:
            for part, was in parts.items():
                archive.writestr(part, content.getvalue() if part == each else was)
        try:
            loaded = highrelief.load(path)
            for ask in ("transform", "predict", "margins", "partial_fit"):
                if hasattr(loaded, ask):
                    getattr(loaded, ask)(*((NEW, Y) if ask in ("margins", "partial_fit") else (NEW,)))
        except (ValueError, TypeError, IndexError, AttributeError):
            continue


class Foreign(BaseEstimator):
    """An estimator of somebody else."""

    def fit(self, X, y):
        return self


class Explosive:
    """Leaves a file behind where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = highrelief.save(FisherScore().fit(X, Y), tmp_path / "model.skops")
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        highrelief.save(ReliefF().fit(X, Y), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.skops"]


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (events.append(os.fstat(handle).st_ino), fsync(handle)))
    monkeypatch.setattr(os, "replace", lambda *names: (events.append("named"), replace(*names)))
    path = highrelief.save(FisherScore().fit(X, Y), tmp_path / "model.skops")
    assert events == [path.stat().st_ino, "named", tmp_path.stat().st_ino]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such bits")
def test_a_file_has_the_permissions_of_any_new_one(tmp_path):
    code = f"""
import json, os
os.umask(0o027)
def forbidden(mask):
    raise AssertionError("it is of the whole process")
os.umask = forbidden
import highrelief
path = highrelief.save(highrelief.FisherScore(), {str(tmp_path / "model.skops")!r})
print(json.dumps(oct(path.stat().st_mode & 0o777)))
"""
    assert run(code) == "0o640"


def test_skops_itself_reads_the_files(tmp_path):
    path = highrelief.save(FisherScore().fit(X, Y), tmp_path / "model.skops")
    names = skops.io.get_untrusted_types(file=path)
    assert all(name.startswith("highrelief.") for name in names)
    assert isinstance(skops.io.load(path, trusted=names), FisherScore)


def test_without_its_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"highrelief\.save needs skops, .* 'highrelief\[save\]'"):
        highrelief.save(FisherScore(), "model.skops")
    with pytest.raises(ImportError, match=r"highrelief\.load needs skops, .* 'highrelief\[save\]'"):
        highrelief.load("model.skops")
