"""A stand-in for export-dashboard, which seed 003 names."""

from pflow import Node


class ExportDashboard(Node):
    """Put figures on a page, dashboard.html.

    Interface:
    - Reads: shared["figures"]: dict [pipe]  # what to show
    - Effects: writes files
    """

    def post(self, shared, prepared, result):
        with open("dashboard.html", "w") as page:
            page.write("".join(f"<dt>{name}<dd>{value}\n" for name, value in shared["figures"].items()))
