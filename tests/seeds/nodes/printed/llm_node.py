"""Seed 001's node, as it is printed."""

from pocketflow import Node


def call_llm(prompt, model, temperature, system):
    return f"{model} at {temperature}, {system}: {prompt}"


class LLMNode(Node):  # Inherits from pocketflow.Node
    """General-purpose LLM processing.

    Interface:
    - Reads: shared["prompt"] - prompt to send to LLM
    - Writes: shared["response"] - LLM's response
    - Params: model (default gpt-4), temperature (default 0.7), system
    """

    def prep(self, shared):
        # Best practice: check shared store first, then params
        prompt = shared.get("prompt") or self.params.get("prompt")
        if not prompt:
            raise ValueError("prompt must be in shared store or params")
        return prompt

    def exec(self, prep_res):
        return call_llm(
            prompt=prep_res,
            model=self.params.get("model", "gpt-4"),
            temperature=self.params.get("temperature", 0.7),
            system=self.params.get("system"),
        )

    def post(self, shared, prep_res, exec_res):
        shared["response"] = exec_res  # Direct assignment
