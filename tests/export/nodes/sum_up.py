from pocketflow import Node


class SumUp(Node):
    def exec(self, prepared):
        return self.params.get("temperature", 0.7)

    def post(self, shared, prepared, temperature):
        shared["article_summary"] = f"{shared['raw_transcript'][:10]} at {temperature}"
