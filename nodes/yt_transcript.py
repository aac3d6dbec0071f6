"""The yt-transcript node: what is said in a video of YouTube."""

from __future__ import annotations

from pflow.errors import USAGE, PflowError
from pflow.node import Any, Node, Shared

Segments = list[dict[str, Any]]

_LONGEST = 3600
"""Seconds of a --delay."""


class YtTranscript(Node):
    """Get the transcript of a video of YouTube: a line for each of its captions.

    One that a person made comes before one that a machine made. YouTube blocks who asks often, and most addresses of
    data centres: --delay keeps calls apart, those of a batch's jobs and of other programs of the user too, and --proxy
    goes another way. A proxy's URL with a password comes from the environment, as --proxy=env:NAME, or HTTPS_PROXY
    holds it. It needs an extra: pip install 'pflow-shell[youtube]'.

    Interface:
    - Reads: shared["url"]: str [explicit] [word]  # the video: its URL, in any form, or its ID
    - Writes: shared["transcript"]: str [pipe]  # what is said
    - Writes: shared["segments"]: list[dict{text: str, start: float, duration: float}]  # each caption, in seconds
    - Params: language: str = "en"  # the language's code; several with commas: the first that there is
    - Params: proxy: str = null [verbatim]  # the URL of a proxy, http://HOST:PORT, or env:NAME: a variable holds it
    - Params: delay: float = 0  # the least seconds between two calls
    - Effects: network
    - Repeats: yes

    Examples:
        pflow-yt-transcript https://www.youtube.com/watch?v=jNQXAC9IVRw
        pflow-yt-transcript jNQXAC9IVRw --language=de,en | pflow-summarise-text --style='one sentence'
        printf 'jNQXAC9IVRw\n' | pflow 'yt-transcript --each --delay=2 => write-file transcripts.json' -q
    """

    version = "1.0.0"

    def cache_parts(self, reads: Shared) -> dict[str, Any]:
        from pflow.kit.web.youtube import video_of

        return {"video": video_of(reads["url"])}

    def prep(self, shared: Shared) -> str:
        from pflow.kit.web.youtube import video_of

        return video_of(shared["url"])

    def exec(self, video: str) -> Segments:
        from pflow.kit.web.headers import read_proxy
        from pflow.kit.web.youtube import fetch_segments, wait_turn
        from pflow.values.masks import masked

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
