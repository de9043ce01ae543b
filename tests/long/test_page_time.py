"""How long a large page takes; `tests/inspection/report/test_page.py` says how much room."""

import time

import pytest
from report_contents import feature_table, full_contents

pytest.importorskip("jinja2", reason="the report needs the extra 'report'")


def test_20_000_features_take_little_time():
    from dataclasses import replace

    from highrelief.inspection.report.page import ranking_page

    names = [f"ENSG{place:011d}.{place % 20} (symbol {place})" for place in range(20_000)]
    contents = replace(full_contents(20_000, 200), features=feature_table(names))
    ranking_page(full_contents())
    start = time.process_time()
    ranking_page(contents)
    assert time.process_time() - start < 2.0
