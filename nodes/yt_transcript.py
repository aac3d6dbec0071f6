"""The yt-transcript node: get the transcript of a YouTube video."""

from pflow.errors import USAGE, PflowError
from pflow.node import Any, Node, Shared

Segments = list[dict[str, Any]]

_LONGEST = 3600
"""The most seconds of --delay."""


class YtTranscript(Node):
    """Get the transcript of a YouTube video, with a line for each caption.

    A transcript by a person is preferred to an automatic one. YouTube blocks frequent callers, and most addresses of
    data centres: --delay spaces out all calls of this user, also from other jobs of a batch and from other programs,
    and --proxy uses another address. A proxy's URL with a password comes from the environment, by --proxy=env:NAME or
    HTTPS_PROXY. It needs an extra: pip install '.[youtube]' in the checkout.

    Interface:
    - Reads: shared["url"]: url [explicit] [word]  # the video's URL, in any form, or its ID
    - Writes: shared["transcript"]: str [pipe]  # the transcript
    - Writes: shared["segments"]: list[dict{text: str, start: float, duration: float}]  # each caption, in seconds
    - Params: language: str = "en"  # a language code, or several with commas: the first that exists is used
    - Params: proxy: str = null [verbatim]  # a proxy's URL, http://HOST:PORT, or env:NAME for that variable's value
    - Params: delay: float = 0  # the minimum time in seconds between two calls
    - Effects: network
    - Repeats: yes

    Examples:
        pflow-yt-transcript https://www.youtube.com/watch?v=jNQXAC9IVRw
        pflow-yt-transcript jNQXAC9IVRw --language=de,en | pflow-summarise-text --style='one sentence'
        printf 'jNQXAC9IVRw\\n' | pflow 'yt-transcript --each --delay=2 => write-file transcripts.json' -q
    """

    def cache_parts(self, reads: Shared) -> dict[str, Any]:
        from pflow.kit.extract import video_of

        return {"video": video_of(reads["url"])}

    def prep(self, shared: Shared) -> str:
        from pflow.kit.extract import video_of

        return video_of(shared["url"])

    def exec(self, video: str) -> Segments:
        from pflow.kit.extract import fetch_segments, wait_turn
        from pflow.values.secrets import masked
        from pflow.web.address import read_proxy

        params = self.params
        languages = [each.strip() for each in params["language"].split(",") if each.strip()]
        if not languages:
            raise PflowError("cannot choose a transcript: --language names no language", exit=USAGE)
        if not 0 <= params["delay"] <= _LONGEST:
            raise PflowError(f"cannot wait {params['delay']:g} s: --delay is from 0 to {_LONGEST}", exit=USAGE)
        proxy = read_proxy(params["proxy"])
        wait_turn(params["delay"])
        try:
            return fetch_segments(video, languages, proxy)
        except PflowError as error:
            raise masked(error, proxy) from error.__cause__

    def post(self, shared: Shared, video: str, segments: Segments) -> None:
        shared["transcript"] = "\n".join(each["text"] for each in segments)
        shared["segments"] = segments
