"""Seed 003's first node, as it is printed."""

from pocketflow import Node


def fetch_transcript(url, language):
    return "This is the video transcript content..."


# Node class (static, pre-written) - SIMPLE AND STANDALONE
class YTTranscript(Node):  # Inherits from pocketflow.Node
    """Fetches YouTube transcript.

    Interface:
    - Reads: shared["url"]: str  # YouTube video URL
    - Writes: shared["transcript"]: str  # Extracted transcript text
    - Params: language: str  # Transcript language (default: "en")
    """

    def prep(self, shared):
        return shared["url"]  # Natural interface

    def exec(self, prep_res):  # prep_res contains the URL
        language = self.params.get("language", "en")  # Simple params
        return fetch_transcript(prep_res, language)

    def post(self, shared, prep_res, exec_res):
        shared["transcript"] = exec_res  # Direct write
