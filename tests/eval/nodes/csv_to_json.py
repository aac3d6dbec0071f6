import csv
import io

from pflow import Node, flow_safe


@flow_safe
class CsvToJson(Node):
    """Read a text of comma-separated values as rows.

    Interface:
    - Reads: shared["csv"]: str [pipe]  # the text, with the names of the columns in its first line
    - Writes: shared["rows"]: list[dict] [pipe]  # for each line an object
    """

    version = "1.0.0"

    def prep(self, shared):
        return list(csv.DictReader(io.StringIO(shared["csv"])))

    def post(self, shared, found, _):
        shared["rows"] = found
