from pflow import Node, flow_safe


@flow_safe
class FrequentWords(Node):
    """Find the most frequent words of a text.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the text
    - Writes: shared["frequent"]: list[str] [pipe]  # the words in lower case, the most frequent first
    - Params: most: int = 5 [positive]  # the most words to find
    - Params: letters: int = 4 [positive]  # the fewest letters of a word

    Examples:
    echo 'Ash, oak, ash.' | pflow frequent-words --letters=3 -r
    """

    version = "1.0.0"

    def prep(self, shared):
        return shared["text"]

    def exec(self, text):
        counts = {}
        for word in "".join(sign if sign.isalpha() else " " for sign in text.lower()).split():
            if len(word) >= self.params["letters"]:
                counts[word] = counts.get(word, 0) + 1
        return sorted(counts, key=lambda word: (-counts[word], word))[: self.params["most"]]

    def post(self, shared, text, frequent):
        shared["frequent"] = frequent
