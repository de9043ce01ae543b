"""What is free, from what systems say about it."""

import pytest

from highrelief._engine import memory
from highrelief._engine.limits import limits


@pytest.fixture
def linux(tmp_path, monkeypatch):
    """A machine with 8 GB free, and files of control groups to be written."""
    (tmp_path / "meminfo").write_text("MemTotal: 16000000 kB\nMemFree: 1000 kB\nMemAvailable: 8000000 kB\n")
    machine, groups = memory._of_machine, memory._left_in_groups
    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr(memory, "_of_machine", lambda: machine(tmp_path / "meminfo"))
    monkeypatch.setattr(memory, "_left_in_groups", lambda: groups(tmp_path / "groups", tmp_path / "mounted"))
    return tmp_path


def write_group(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def test_of_a_machine_without_limits(linux):
    assert memory.free_memory() == 8000000 * 1024
    assert memory.memory_budget(None) == limits.memory_share * memory.free_memory()


def test_a_budget_is_taken_as_it_is(linux):
    assert memory.memory_budget(0) == 0.0
    assert memory.memory_budget(123) == 123.0


def test_limit_of_a_group_of_version_2(linux):
    (linux / "groups").write_text("0::/job/step\n")
    write_group(linux / "mounted/job/step", memory__max="max", memory__current=5)
    write_group(linux / "mounted/job", memory__max=3_000_000, memory__current=1_000_000)
    assert memory.free_memory() == 2_000_000


def test_limit_of_a_group_of_version_1(linux):
    (linux / "groups").write_text("7:cpu,cpuacct:/job\n4:memory:/job\n")
    write_group(
        linux / "mounted/memory/job",
        memory__limit_in_bytes=9223372036854771712,
        memory__usage_in_bytes=1,
    )
    assert memory.free_memory() == 8000000 * 1024
    write_group(linux / "mounted/memory/job", memory__limit_in_bytes=4096, memory__usage_in_bytes=1096)
    assert memory.free_memory() == 3000


def test_in_a_container_only_the_root_is_seen(linux):
    (linux / "groups").write_text("0::/host/path/that/is/not/here\n")
    write_group(linux / "mounted", memory__max=5000, memory__current=6000)
    assert memory.free_memory() == 0.0


def test_a_system_that_says_nothing(linux, monkeypatch):
    (linux / "meminfo").unlink()
    monkeypatch.setattr(memory.os, "sysconf", lambda name: -1, raising=False)
    assert memory.free_memory() == limits.assumed_memory


def test_free_pages(linux, monkeypatch):
    (linux / "meminfo").unlink()
    pages = {"SC_AVPHYS_PAGES": 7, "SC_PHYS_PAGES": 100, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(memory.os, "sysconf", pages.__getitem__, raising=False)
    assert memory.free_memory() == 7 * 4096
    pages["SC_AVPHYS_PAGES"] = -1
    assert memory.free_memory() == 50 * 4096


def test_of_this_machine():
    assert 0.0 < memory.free_memory() < 2.0**50
