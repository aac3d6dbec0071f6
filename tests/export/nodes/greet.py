from pocketflow import Node


class Greet(Node):
    def prep(self, shared):
        return shared.get("tone") or self.params.get("tone"), self.params.get("tone") or shared.get("tone")

    def post(self, shared, tones, done):
        shared["greeting"] = f"{tones[0]}, {tones[1]}"
