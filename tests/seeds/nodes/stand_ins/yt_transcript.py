"""A stand-in for seed 003's yt-transcript in pipes: its printed interface has no [pipe], and no default in our form."""

from pflow import Node


class YTTranscript(Node):
    """Fetch a transcript.

    Interface:
    - Reads: shared["url"]: str  # YouTube video URL
    - Writes: shared["transcript"]: str [pipe]  # Extracted transcript text
    - Params: language: str = "en"  # Transcript language
    """

    def prep(self, shared):
        return shared["url"]

    def exec(self, url):
        return f"Video transcript content of {url} in {self.params['language']}"

    def post(self, shared, url, transcript):
        shared["transcript"] = transcript
