"""The flow in JSON, as its file has it and as `pflow import` prints it."""

from pflow.flow.ir import flow_to_ir
from pflow.flow.wired_flow import WiredFlow
from pflow.values.fast_json import write_json


def export(wired: WiredFlow) -> str:
    return write_json(flow_to_ir(wired.flow))
