from pocketflow import BatchNode


class Lengths(BatchNode):
    """Measure words.

    Interface:
    - Reads: shared["words"]: list[str] [pipe]  # which
    - Writes: shared["lengths"]: list[int] [pipe]  # how long each is
    """

    def prep(self, shared):
        return shared["words"]

    def exec(self, word):
        return len(word)

    def post(self, shared, words, lengths):
        shared["lengths"] = tuple(lengths)
