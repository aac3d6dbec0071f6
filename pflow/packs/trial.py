"""Try a stranger's node before it is installed: run it confined, and check that it does only what it declares."""

from dataclasses import replace

from pflow.conformance.conduct import Verdict, choose_checks, conduct
from pflow.conformance.sandbox import limit_files
from pflow.conformance.trial import find_node
from pflow.errors import BAD_CONFIG, PflowError
from pflow.process.children import adopt_orphans
from pflow.process.confine import has_landlock
from pflow.text.printable import clean

_SECONDS = 10.0
"""The most seconds that one run of the node may take."""


def try_node(file: str) -> list[Verdict]:
    """Run a node in directories of its own, and return the verdicts: FAILED if it does not keep to what it declares.

    The node, and all that it starts, can write only there, gets no secrets, and no internet unless it declares the
    network. A node that ends with an error, or declares no interface, does not fail: the checks that need a result are
    SKIPPED. Raises PflowError if the file is not a node, or if there is no Landlock (78): without it, nothing is run.
    """
    if not has_landlock():
        raise PflowError(f"cannot try '{file}': the kernel has no Landlock to confine it", exit=BAD_CONFIG)
    node = find_node(file)
    checks = choose_checks(["effects", "network", "isolation", "leftovers"])
    limit_files()
    adopt_orphans(is_on=True)
    try:
        always = [replace(check, of_good_run=check.id == "isolation") for check in checks]
        verdicts = list(conduct(node, [], always, _SECONDS, confined=True))
    finally:
        adopt_orphans(is_on=False)
    for each in verdicts:
        each.why = clean(each.why.replace("(see runs)", "with sample values").replace(" (see interface)", ""))
    return verdicts
