"""Count the tests that were skipped, by reason: pytest's in an XML file, the shell tests' in a TAP file."""

import re
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

xml, tap = map(Path, sys.argv[1:])
reasons = Counter(skip.get("message", "").partition("\n")[0] for skip in ElementTree.parse(xml).iter("skipped"))
reasons.update(re.findall(r"^ok .*# skip (.*)$", tap.read_text(), re.MULTILINE))
if reasons:
    print(f"== {reasons.total()} tests skipped")
for reason, count in reasons.most_common():
    print(f"{count:5}  {reason}")
