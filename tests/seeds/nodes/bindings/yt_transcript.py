"""Seed 002's first node, as it is printed."""

from pocketflow import Node


def fetch_transcript(url, language):
    return "This is the video transcript content..."


# Node class (static, pre-written)
class YTTranscript(Node):  # Inherits from pocketflow.Node
    def prep(self, shared):
        # Access input binding through existing params system
        url_key = self.params["input_bindings"]["url"]  # "video_url"
        return shared[url_key]

    def exec(self, url):
        # Access config through existing params system
        language = self.params["config"].get("language", "en")
        return fetch_transcript(url, language)

    def post(self, shared, prep_res, exec_res):
        # Access output binding through existing params system
        output_key = self.params["output_bindings"]["transcript"]  # "raw_transcript"
        shared[output_key] = exec_res
