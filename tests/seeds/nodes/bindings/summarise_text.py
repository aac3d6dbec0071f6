"""Seed 002's second node: its methods as they are printed, one by one, in section 13."""

from pocketflow import Node


def call_llm(text, temperature):
    with open("asked", "w") as file:
        file.write(f"{temperature} {text}")
    return "Summary: The video discusses..."


class SummariseText(Node):
    def prep(self, shared):
        text_key = self.params["input_bindings"]["text"]  # "raw_transcript"
        return shared[text_key]  # Returns "This is the video transcript content..."

    def exec(self, text):
        temperature = self.params["config"].get("temperature", 0.7)  # 0.9 (CLI override)
        return call_llm(text, temperature=temperature)

    def post(self, shared, prep_data, exec_result):
        output_key = self.params["output_bindings"]["summary"]  # "article_summary"
        shared[output_key] = exec_result
