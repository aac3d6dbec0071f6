"""Four hundred saved flows of other people's days: what the right flow has to be told from."""

from __future__ import annotations

_ACTS = (
    ("archive-{0}", "Move {0} of the year before last into the archive and note it in the index."),
    ("approve-{0}", "Ask the owner to approve {0}, and file the answer."),
    ("assign-{0}", "Assign {0} to whoever has the least to do."),
    ("audit-{0}", "Hold {0} against the written policy and report what departs from it."),
    ("chart-{0}", "Plot the number of {0} by month."),
    ("check-{0}", "Check that {0} have all the required fields and list those that do not."),
    ("count-{0}", "Count {0} by status and print a table."),
    ("delete-{0}", "Delete {0} older than their retention period, after a confirmation."),
    ("escalate-{0}", "Escalate {0} that nobody has touched for three days."),
    ("export-{0}", "Export {0} to a spreadsheet for the accountant."),
    ("import-{0}", "Import {0} from the old system and report rows that fail."),
    ("index-{0}", "Build a search index over {0}."),
    ("notify-{0}", "Notify subscribers by mail about new {0}."),
    ("print-{0}", "Print {0} as labels, thirty to a page."),
    ("rank-{0}", "Rank {0} by cost and by age."),
    ("sample-{0}", "Draw a random sample of {0} for a manual check."),
    ("schedule-{0}", "Put {0} on the duty roster of next month."),
    ("sync-{0}", "Keep {0} the same in both offices, the newer one winning."),
    ("tag-{0}", "Tag {0} by department with a model."),
    ("translate-{0}", "Translate {0} into Spanish for the branch in Madrid."),
)
"""Name and description of what is done to a thing."""

_THINGS = (
    ("orders", "purchase orders"),
    ("leases", "rental agreements"),
    ("patients", "patient records"),
    ("parcels", "parcels in transit"),
    ("permits", "building permits"),
    ("sensors", "sensor readings"),
    ("vouchers", "gift vouchers"),
    ("members", "club members"),
    ("warranties", "warranty claims"),
    ("trainings", "staff trainings"),
    ("vehicles", "company vehicles"),
    ("samples", "laboratory samples"),
    ("donations", "donations"),
    ("exhibits", "museum exhibits"),
    ("timesheets", "timesheets"),
    ("visitors", "visitor badges"),
    ("quotes", "supplier quotes"),
    ("menus", "canteen menus"),
    ("inspections", "fire inspections"),
    ("keys", "door keys"),
)
"""Word of a name, and the thing in words."""


def distractors() -> list[tuple[str, str]]:
    """Name and description of each."""
    return [(name.format(short), text.format(long)) for name, text in _ACTS for short, long in _THINGS]
