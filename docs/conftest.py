"""Set-up for the examples of the pages."""

import pytest

# What Sphinx reads, and what it has written.
collect_ignore = ["conf.py", "conftest.py", "_build", "api", "gallery"]


@pytest.fixture(autouse=True)
def _a_folder_of_its_own(tmp_path, monkeypatch):
    """Let examples write files where nobody minds."""
    monkeypatch.chdir(tmp_path)
