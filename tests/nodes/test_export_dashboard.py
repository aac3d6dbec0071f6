"""export-dashboard: a page whose data is never markup, with a bar for each number."""

from pflow.nodes.export_dashboard import ExportDashboard
from tests.nodes.rows import run


def test_nothing_in_data_is_markup_in_a_dashboard(tmp_path):
    path = tmp_path / "a.html"
    evil = "</title></td></text><script>alert(1)</script><img src=x onerror='x'>\"&"
    rows = [{evil: evil, "n": "-3"}, {evil: None, "n": 4}, {evil: evil, "n": ""}]
    for store in ({"report": rows}, {"report": evil, "result": rows}):
        run(ExportDashboard, {**store, "path": str(path)}, title=evil)
        page = path.read_text()
        assert "<script" not in page
        assert "<img" not in page
        assert page.count("</title>") == 1
        assert "default-src 'none'" in page


def test_a_dashboard_draws_a_bar_for_each_number():
    from pflow.tables.formats import dashboard

    page = dashboard("T", [{"n": "-1", "city": "Oslo"}, {"n": "3", "city": "Lyon"}, {"n": "", "city": "Köln"}], None)
    assert "<h2>n by city</h2>" in page
    assert page.count("<rect x=") == 3
    assert 'x="180.0" y="2" width="130.0"' in page
    assert 'x="310.0" y="24" width="390.0"' in page
    assert "<svg" not in dashboard("T", [{"a": "x"}], None)
    assert "<svg" not in dashboard("T", [{"a": "1.234"}], None, ["a"])
    assert "The first 30 of 31." in dashboard("T", [{"n": 0}] * 31, None)
