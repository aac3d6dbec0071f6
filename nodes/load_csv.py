"""The load-csv node: load the rows of a CSV file."""

from pflow.errors import USAGE, PflowError
from pflow.node import Any, Node, Shared


class LoadCsv(Node):
    """Load the rows of a CSV file as objects of texts, with the names in the first line.

    The delimiter is a tab if the file is called .tsv or .tab, or the one that a first line such as sep=; names.
    Otherwise it is the comma, semicolon, tab or | that stands outside quotes in the first line, and equally often in
    most lines. Quoted values may contain line ends and doubled quotes; a byte order mark and blank lines are ignored.

    A second column `a` is called `a_2`, and a third column without a name `column_3`; stderr says so. If the header has
    one name too few, the column without a name is the last one if it is empty. It is the first one if that has row
    names or row numbers, as R and pandas write them.

    A row with too few or too many values and an open quote are errors, with line and column. --ragged fills short rows
    with nulls; --rest=NAME puts what a long row has more into that column, as a list.

    --infer converts a column if all its values fit: to whole numbers of 64 bits, to numbers, to true and false. 007
    stays a text, and an empty value becomes null. With --decimal=, a column of numbers such as 1,5 gets 1.5 instead. If
    one of its values is not such a number, for example 1.234 or 9,50 €, the column stays text and stderr names it.

    A file or a pipe packed by gzip, bzip2, xz or Zstandard is unpacked, whatever its name is. Of an Excel workbook
    (.xlsx) the first sheet with cells is read, without its empty rows and columns: dates are 2026-11-28, and formulas
    have their last results. A formula without one is an empty cell; stderr names the first.

    Interface:
    - Reads: shared["path"]: path = null [explicit] [word] [flag file]  # the file; without it, the pipe's text
    - Reads: shared["text"]: any = null [pipe]  # CSV text, if --path is not given
    - Writes: shared["rows"]: list[dict] [pipe]  # the rows, one object each
    - Writes: shared["columns"]: list[str]  # the names of the columns
    - Writes: shared["text_columns"]: list[str]  # those that a decimal comma does not fit, and so stay text
    - Params: delimiter: str = null [delimiter]  # the delimiter: one character, or tab
    - Params: quotes: bool = true  # quotation marks enclose values; --no-quotes: they are ordinary characters
    - Params: encoding: str = null  # the encoding of the file: latin-1, cp1252, utf-16, …; without it, UTF-8
    - Params: header: bool = true  # the first line has the names; --no-header: they are c1, c2, …
    - Params: infer: bool = false  # convert columns of numbers and of true and false; empty becomes null
    - Params: ragged: bool = false  # fill rows that are too short with nulls
    - Params: rest: str = null  # put what a row has beyond the last column into this column, as a list
    - Params: decimal: str = "."  # the decimal sign of numbers: a point or a comma
    - Effects: reads files

    Examples:
        pflow-load-csv examples/sales.csv
        pflow-load-csv --file=examples/sales.csv --infer | pflow-get 'rows[0].quantity'
        printf 'name;age\\nAda;36\\n' | pflow-load-csv -r
    """

    def prep(self, shared: Shared) -> tuple[Any, Any]:
        return shared.get("path"), shared.get("text")

    def exec(self, prepared: tuple[Any, Any]) -> tuple[list[str], list[dict[str, Any]], list[str]]:
        from pflow.tables.csv_text import delimiter_of, read_csv
        from pflow.tables.source import read_text

        params = self.params
        delimiter = delimiter_of(params["delimiter"]) if params["delimiter"] else None
        if params["decimal"] not in (".", ","):
            raise PflowError(f"cannot use '{params['decimal']}' as the decimal sign: it is . or ,", exit=USAGE)
        name, text = read_text(*prepared, params["encoding"], is_table=True)
        form = {name: params[name] for name in ("quotes", "header", "ragged", "rest", "decimal")}
        return read_csv(text, name, delimiter=delimiter, infers=params["infer"], **form)

    def post(self, shared: Shared, prepared: object, table: tuple[list[str], list[dict[str, Any]], list[str]]) -> None:
        shared["columns"], shared["rows"], shared["text_columns"] = table
