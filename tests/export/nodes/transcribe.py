from pocketflow import Node


class YTTranscript(Node):
    """Fetch a transcript. Reads and writes the shared store in prose."""

    def prep(self, shared):
        return shared["video_url"]

    def exec(self, url):
        return f"transcript of {url} in {self.params['language']}"

    def post(self, shared, url, transcript):
        shared["raw_transcript"] = transcript
        return "default"
