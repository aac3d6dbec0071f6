"""The trial of a stranger's node before it is installed: it runs confined, and has to keep its word."""

from dataclasses import replace

from pflow.conformance.conduct import Verdict, choose_checks, conduct
from pflow.conformance.sandbox import limit_files
from pflow.conformance.trial import find_node
from pflow.errors import BAD_CONFIG, PflowError
from pflow.process.children import adopt_orphans
from pflow.process.confine import has_landlock
from pflow.words.printable import clean

_SECONDS = 10.0
"""Seconds of its longest run."""


def try_node(file: str) -> list[Verdict]:
    """Run a node in directories of its own and return if it does more than it declares: a check that FAILED.

    All that it starts can write nowhere else, has no secrets, and no internet unless it declares the network. A node
    that ends with an error, or declares nothing, fails no check by that: those that need its answer are SKIPPED.
    Raises PflowError if the file is no node, or without Landlock (78): nothing of a stranger's runs then.
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
