"""Compiled kernels on disk: found again by whoever may use them, by nobody else."""

import os
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from kernel_package import INNER, install
from numba.core.registry import cpu_target
from processes import ROOT, answer, run, start
from registry import THOROUGH

from highrelief._kernels import cache
from highrelief._kernels.cache import fingerprint

pytestmark = pytest.mark.slow

USE = """
import json, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from highrelief._kernels.outer import outer
    results = [outer(20), outer(20.0)]
stats = outer.stats
print(json.dumps({
    "results": results,
    "compiled": sum(stats.cache_misses.values()),
    "found": sum(stats.cache_hits.values()),
    "warnings": [str(w.message) for w in caught],
    "folder": stats.cache_path,
}))
"""


def kept(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """An installation that has been used once: where it is, and where its kernels are kept."""
    place = tmp_path_factory.mktemp("installed")
    installed = install(place / "package")
    first = run(USE, path=installed, HIGHRELIEF_CACHE_DIR=place / "cache")
    assert (first["compiled"], first["found"]) == (2, 0)
    assert first["results"] == [41, 41.0]
    return installed, place / "cache"


def test_a_later_process_compiles_nothing(warm):
    installed, folder = warm
    later = run(USE, path=installed, HIGHRELIEF_CACHE_DIR=folder)
    assert (later["compiled"], later["found"], later["results"]) == (0, 2, [41, 41.0])
    assert later["warnings"] == []


def test_the_package_folder_is_left_alone(warm):
    installed, folder = warm
    assert {path.suffix for path in kept(installed)} == {".py"}
    assert {path.suffix for path in kept(folder)} == {".kernel"}
    assert {path.parent.parent for path in kept(folder)} == {folder / "highrelief"}


def test_another_installation_of_the_same_version_finds_the_kernels(warm, tmp_path):
    again = install(tmp_path / "elsewhere")
    for path in kept(again):
        os.utime(path, (1e9, 1e9))
    later = run(USE, path=again, HIGHRELIEF_CACHE_DIR=warm[1])
    assert (later["compiled"], later["found"]) == (0, 2)


@pytest.mark.parametrize(
    ("name", "old", "new", "result"),
    [
        ("inner.py", "x * FACTOR", "x + FACTOR", 23),
        ("inner.py", '"2"', '"3"', 61),
        ("outer.py", "+ 1", "+ 5", 45),
    ],
)
def test_an_edit_anywhere_is_seen(warm, tmp_path, name, old, new, result):
    edited = install(tmp_path / "edited")
    path = edited / "highrelief" / "_kernels" / name
    before = path.stat()
    text = path.read_text()
    path.write_text(text.replace(old, new))
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run(USE, path=edited, HIGHRELIEF_CACHE_DIR=warm[1])["results"] == [result, result]


def test_a_constant_of_a_callee_that_is_not_in_the_source_is_seen(warm):
    installed, folder = warm
    other = run(USE, path=installed, HIGHRELIEF_CACHE_DIR=folder, PROBE_FACTOR=4)
    assert (other["compiled"], other["results"]) == (2, [81, 81.0])


@pytest.mark.parametrize(
    "setting", [{"NUMBA_CPU_NAME": "generic"}, {"NUMBA_CPU_FEATURES": ""}, {"NUMBA_OPT": 1}], ids=str
)
def test_code_for_another_processor_is_not_taken(warm, setting):
    installed, folder = warm
    other = run(USE, path=installed, HIGHRELIEF_CACHE_DIR=folder, **setting)
    assert (other["compiled"], other["found"], other["results"]) == (2, 0, [41, 41.0])


def test_another_version_has_a_folder_of_its_own(warm, tmp_path):
    other = install(tmp_path / "other")
    path = other / "highrelief" / "__init__.py"
    path.write_text(path.read_text() + '\n__version__ = "99.0"\n')
    result = run(USE, path=other, HIGHRELIEF_CACHE_DIR=warm[1])
    assert result["compiled"] == 2
    assert Path(result["folder"]).name.startswith("99.0-")


@pytest.mark.parametrize("damage", [b"", b"garbage", None], ids=["empty", "garbage", "truncated"])
def test_a_damaged_file_is_compiled_anew_and_replaced(warm, tmp_path, damage):
    installed, folder = warm
    copy = tmp_path / "cache"
    shutil.copytree(folder, copy)
    for path in kept(copy):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if damage is None else damage)
    hurt = run(USE, path=installed, HIGHRELIEF_CACHE_DIR=copy)
    assert (hurt["compiled"], hurt["results"], hurt["warnings"]) == (2, [41, 41.0], [])
    assert run(USE, path=installed, HIGHRELIEF_CACHE_DIR=copy)["found"] == 2


def test_a_file_of_another_kernel_s_name_is_compiled_anew(warm, tmp_path):
    installed, _ = warm
    copy = tmp_path / "cache"
    state = Path(run(USE, path=installed, HIGHRELIEF_CACHE_DIR=copy)["folder"])
    of_whole, of_float = (path for path in kept(state) if path.name.startswith("outer."))
    contents = of_whole.read_bytes(), of_float.read_bytes()
    of_whole.write_bytes(contents[1])
    of_float.write_bytes(contents[0])
    swapped = run(USE, path=installed, HIGHRELIEF_CACHE_DIR=copy)
    assert (swapped["compiled"], swapped["results"]) == (2, [41, 41.0])
    assert run(USE, path=installed, HIGHRELIEF_CACHE_DIR=copy)["found"] == 2


def test_without_a_place_it_compiles_in_memory_and_warns_once(warm, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    homeless = run(USE, path=warm[0], HIGHRELIEF_CACHE_DIR=tmp_path / "file")
    assert (homeless["compiled"], homeless["results"]) == (2, [41, 41.0])
    (warning,) = homeless["warnings"]
    assert "HIGHRELIEF_CACHE_DIR" in warning


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_that_can_only_be_read_is_read(warm, tmp_path):
    installed, folder = warm
    copy = tmp_path / "cache"
    shutil.copytree(folder, copy)
    folders = [path for path in copy.rglob("*") if path.is_dir()]
    for each in folders:
        each.chmod(0o500)
    try:
        assert run(USE, path=installed, HIGHRELIEF_CACHE_DIR=copy)["found"] == 2
    finally:
        for each in folders:
            each.chmod(0o700)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no bits that say who may write")
class TestOthers:
    """To load a kernel runs what is in its file: nobody else may have put it there."""

    @pytest.fixture
    def copy(self, warm, tmp_path):
        shutil.copytree(warm[1], tmp_path / "cache")
        return tmp_path / "cache"

    @pytest.mark.parametrize("mode", [0o775, 0o757, *THOROUGH * [0o777]], ids=oct)
    def test_a_folder_that_others_can_write_to_is_not_used(self, warm, copy, mode):
        folders = list((copy / "highrelief").iterdir())
        for folder in folders:
            folder.chmod(mode)
        result = run(USE, path=warm[0], HIGHRELIEF_CACHE_DIR=copy)
        assert (result["compiled"], result["found"], result["results"]) == (2, 0, [41, 41.0])
        (warning,) = result["warnings"]
        assert any(f"others can write to {folder})" in warning for folder in folders)

    @pytest.mark.parametrize(
        ("mode", "above"), [(0o775, 1), (0o757, 2), *THOROUGH * [(0o757, 1), (0o775, 2)]], ids=oct
    )
    def test_a_folder_above_that_others_can_write_to_is_not_used(self, warm, copy, mode, above):
        unsafe = next((copy / "highrelief").iterdir()).parents[above - 1]
        unsafe.chmod(mode)
        if os.geteuid() != 0:
            mode |= 0o002  # the user's own group is trusted above
            unsafe.chmod(mode)
        result = run(USE, path=warm[0], HIGHRELIEF_CACHE_DIR=copy)
        assert (result["compiled"], result["found"], result["results"]) == (2, 0, [41, 41.0])
        (warning,) = result["warnings"]
        assert f"others can write to {unsafe})" in warning

    def test_a_sticky_folder_above_is_safe(self, warm, copy):
        copy.chmod(0o1777)
        assert run(USE, path=warm[0], HIGHRELIEF_CACHE_DIR=copy)["found"] == 2

    def test_folders_are_checked_up_to_the_home_folder(self, warm, copy):
        assert "the folders above it up to the home folder" in (ROOT / "SECURITY.md").read_text()
        copy.chmod(0o777)
        inside = {"HIGHRELIEF_CACHE_DIR": "", "XDG_CACHE_HOME": copy, "NUMBA_CACHE_DIR": ""}
        assert run(USE, path=warm[0], HOME=copy / "highrelief", **inside)["found"] == 2
        assert run(USE, path=warm[0], HOME=copy, **inside)["found"] == 0

    def test_a_link_on_the_way_is_followed_once(self, warm, copy, tmp_path):
        (tmp_path / "link").symlink_to(copy)
        result = run(USE, path=warm[0], HIGHRELIEF_CACHE_DIR=tmp_path / "link")
        assert (result["found"], Path(result["folder"]).parent) == (2, copy.resolve() / "highrelief")

    def test_the_group_of_one_user_is_trusted(self, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        user = SimpleNamespace(pw_name="ada", pw_gid=1000)
        monkeypatch.setattr("pwd.getpwuid", lambda uid: user)
        status = SimpleNamespace(st_uid=1000, st_gid=1000, st_mode=0o40775)
        for name, number, members, trusted in (
            ("ada", 1000, [], True),
            ("ada", 1000, ["ada"], True),
            ("ada", 1000, ["ada", "eve"], False),
            ("users", 1000, [], False),
        ):
            group = SimpleNamespace(gr_name=name, gr_gid=number, gr_mem=members)
            monkeypatch.setattr("grp.getgrgid", lambda gid, group=group: group)
            assert cache._is_private_group(status) is trusted
        status.st_mode |= 0o002
        assert not cache._is_private_group(status)

    @pytest.mark.parametrize("mode", [0o664, 0o646], ids=oct)
    def test_a_file_that_others_can_write_to_is_not_read(self, warm, copy, mode):
        for path in kept(copy):
            path.chmod(mode)
        result = run(USE, path=warm[0], HIGHRELIEF_CACHE_DIR=copy)
        assert (result["compiled"], result["found"]) == (2, 0)
        # They were replaced.
        assert run(USE, path=warm[0], HIGHRELIEF_CACHE_DIR=copy)["found"] == 2

    def test_a_link_to_a_file_is_not_read(self, warm, copy, tmp_path):
        for path in kept(copy):
            path.rename(tmp_path / path.name)
            path.symlink_to(tmp_path / path.name)
        assert run(USE, path=warm[0], HIGHRELIEF_CACHE_DIR=copy)["found"] == 0

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
    @pytest.mark.parametrize("what", ["folder", "files"])
    def test_what_belongs_to_another_user_is_not_read(self, warm, copy, what):
        for path in (copy / "highrelief").iterdir() if what == "folder" else kept(copy):
            os.chown(path, 12345, 12345)
        result = run(USE, path=warm[0], HIGHRELIEF_CACHE_DIR=copy)
        assert (result["compiled"], result["found"]) == (2, 0)

    def test_who_is_trusted(self, monkeypatch):
        status = SimpleNamespace(st_uid=1000, st_mode=0o100644)
        for me, trusted in ((1000, True), (1001, False)):
            monkeypatch.setattr(os, "geteuid", lambda me=me: me)
            assert cache._is_trusted(status) is trusted
        assert cache._is_trusted(SimpleNamespace(st_uid=0, st_mode=0o40755))
        monkeypatch.delattr(os, "geteuid")
        assert cache._is_trusted(status)

    def test_it_makes_what_only_the_user_can_write_to(self, warm, tmp_path):
        code = "import os; os.umask(0)\n" + USE
        run(code, path=warm[0], HIGHRELIEF_CACHE_DIR=tmp_path)
        (folder,) = (tmp_path / "highrelief").iterdir()
        assert {path.stat().st_mode & 0o022 for path in (folder, *kept(tmp_path))} == {0}
        assert run(USE, path=warm[0], HIGHRELIEF_CACHE_DIR=tmp_path)["found"] == 2


def test_many_processes_may_fill_the_cache_at_once(warm, tmp_path):
    processes = [start(USE, path=warm[0], HIGHRELIEF_CACHE_DIR=tmp_path) for _ in range(4)]
    assert [answer(process)["results"] for process in processes] == [[41, 41.0]] * 4
    assert {path.suffix for path in kept(tmp_path)} == {".kernel"}
    assert run(USE, path=warm[0], HIGHRELIEF_CACHE_DIR=tmp_path)["found"] == 2


def test_numba_s_own_setting_of_a_folder_is_respected(warm, tmp_path):
    result = run(USE, path=warm[0], HIGHRELIEF_CACHE_DIR="", NUMBA_CACHE_DIR=tmp_path)
    assert Path(result["folder"]).parent == tmp_path / "highrelief"


def test_kernels_that_nobody_uses_go_and_nothing_else(tmp_path):
    long_ago = time.time() - (cache.RETENTION_DAYS + 1) * 86400

    def folder(name, files, when):
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).write_bytes(b"")
        os.utime(tmp_path / name, (when, when))

    state = "0123456789abcdef01234567"
    folder(f"0.1.0-{state}", ["a.f-1.kernel", "a.f-2.kernel.1234"], long_ago)
    folder(f"0.2.0-{state}", ["a.f-1.kernel"], time.time())
    folder(f"0.3.0-{state}", ["a.f-1.kernel", "letter.txt"], long_ago)
    folder("photographs", ["a.f-1.kernel"], long_ago)
    cache._remove_unused.__wrapped__(tmp_path)
    assert {str(path.relative_to(tmp_path)) for path in kept(tmp_path)} == {
        f"0.2.0-{state}/a.f-1.kernel",
        f"0.3.0-{state}/letter.txt",
        "photographs/a.f-1.kernel",
    }
    assert not (tmp_path / f"0.1.0-{state}").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="paths of other systems")
@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "/home/ada/.cache/highrelief"),
        ("linux", {"XDG_CACHE_HOME": "/scratch"}, "/scratch/highrelief"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, None),
        ("darwin", {}, "/home/ada/Library/Caches/highrelief"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/highrelief"),
        ("linux", {"XDG_CACHE_HOME": "/scratch", "HIGHRELIEF_CACHE_DIR": "/mine"}, "/mine/highrelief"),
    ],
)
def test_place_of_the_cache(monkeypatch, platform, environment, expected):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HIGHRELIEF_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cache.config, "CACHE_DIR", "")
    monkeypatch.setattr(sys, "platform", platform)
    assert cache.cache_root() == (None if expected is None else Path(expected))


def test_a_numba_of_another_make_keeps_kernels_in_its_own_way_in_the_same_place(tmp_path):
    """Without the parts of Numba that the cache is made of; an edit in a callee must be seen all the same."""
    strange = "from highrelief._kernels import cache; cache._NUMBA_IS_SUPPORTED = False" + USE
    installed = install(tmp_path / "package")
    here = {"path": installed, "HIGHRELIEF_CACHE_DIR": tmp_path / "cache"}
    first, second = run(strange, **here), run(strange, **here)
    assert (first["compiled"], second["compiled"], second["found"]) == (2, 0, 2)
    assert {path.suffix for path in kept(tmp_path / "cache")} == {".nbi", ".nbc"}
    assert {path.suffix for path in kept(installed)} == {".py"}
    inner = installed / "highrelief" / "_kernels" / "inner.py"
    inner.write_text(INNER.replace("x * FACTOR", "x + FACTOR"))
    assert run(strange, **here)["results"] == [23, 23.0]


def test_a_numba_of_another_make_without_a_place_compiles_in_memory(monkeypatch, tmp_path):
    def nowhere():
        raise RuntimeError("cannot cache function: no locator available")

    strange = SimpleNamespace(enable_caching=nowhere)
    monkeypatch.setattr(cache.config, "CACHE_DIR", "as before")
    for folder in (tmp_path, None):
        monkeypatch.setattr(cache, "kernel_folder", lambda folder=folder: folder)
        assert cache.cache_on_disk(strange) is strange
        assert cache.config.CACHE_DIR == "as before"


def test_what_code_needs_is_there_before_it_runs():
    """Numba's runtime is enough for our kernels; whatever else code may need, Numba then loads it all."""
    target = cpu_target.target_context
    refreshed = []
    watched = SimpleNamespace(
        codegen=target.codegen, call_conv=target.call_conv, refresh=lambda: refreshed.append(True)
    )
    cache._ensure_symbols(watched, ["NRT_MemInfo_alloc_aligned", "PyErr_SetString"])
    assert refreshed == []
    cache._ensure_symbols(watched, ["PyErr_SetString", "no_such_symbol"])
    assert refreshed == [True]


def test_a_fingerprint_is_the_same_in_every_process():
    code = """
import json
from highrelief._kernels.cache import fingerprint
from highrelief._kernels.candidates import find_candidates
print(json.dumps(fingerprint(find_candidates)))
"""
    from highrelief._kernels.candidates import find_candidates

    prints = {run(code, PYTHONHASHSEED=seed) for seed in (1, 2)}
    assert prints == {fingerprint(find_candidates)}
