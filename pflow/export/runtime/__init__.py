"""What exported Python stands on beside pocketflow; the export writes these files, and what they import, into it."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from pflow import jsontext
from pflow.export.runtime.flow import Flow, Fork, Input
from pflow.export.runtime.script import run_script
from pflow.export.runtime.step import Batch, Step
from pflow.export.runtime.subflow import Subflow
from pflow.export.runtime.values import Template

__all__ = ["Batch", "Flow", "Fork", "Input", "Step", "Subflow", "Template", "run_script"]

if find_spec("orjson") is None:  # it only makes large documents faster
    jsontext.LARGE = sys.maxsize
