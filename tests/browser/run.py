"""`make browser`: the pages of runs in a real browser: what they say, an empty console, paper; screenshots."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.browser.scenes import Scenes
from tests.peers.openai_server import OpenAIServer

BROWSER = next(filter(shutil.which, ("chromium", "chromium-browser", "google-chrome")), None)
SAID = {
    "small": ["priced", "$0.25", "Oak, ash and elm.", "pflow replay"],
    "failed": [
        "What failed",
        "translate",
        "429: slow down",
        "$0.25",
        "pflow resume",
        "a try failed",
        "not reached",
    ],
    "fork": ["facts", "tone", "2 visits", "cost unknown", "exit 3"],
    "batch": ["2 items failed", "no such ticket: 133", "--failed"],
    "map": ["298 done, 2 failed", "no such ticket: 17", "pflow why"],
    "runs": ["finished 1", "failed 75", "review"],
}
"""What a person must find on each page."""


def browse(page: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Open a page in a browser that reaches no other host."""
    assert BROWSER is not None
    always = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ]
    words = [BROWSER, *always, "--enable-logging=stderr", *flags, page.as_uri()]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)


def console(page: Path) -> list[str]:
    """Return what a page writes on the browser's console."""
    return [line for line in browse(page, "--dump-dom").stderr.splitlines() if "CONSOLE" in line]


def on_paper(page: Path) -> str:
    """Return the text of a page when it is printed; empty where no pdftotext is installed."""
    pdf = page.with_suffix(".pdf")
    browse(page, f"--print-to-pdf={pdf}")
    command = ["pdftotext", "-layout", str(pdf), "-"]
    return (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout if shutil.which("pdftotext") else ""
    )


def faults_of(page: Path, shots: Path) -> list[str]:
    """Take screenshots of a page, light and dark; return what is wrong with it."""
    name = page.stem
    for look, scheme in (("", "1"), ("-dark", "0")):
        shot = f"--screenshot={shots / f'{name}{look}.png'}"
        browse(page, shot, "--window-size=1200,900", f"--blink-settings=preferredColorScheme={scheme}")
    text = " ".join(browse(page, "--dump-dom").stdout.replace("<", " <").split())
    wrong = [f"{name} does not say '{words}'" for words in SAID[name] if words not in text]
    wrong += [f"{name} writes on the console: {line}" for line in console(page)]
    paper = on_paper(page)
    if paper and name == "small" and "← reads" not in paper:
        wrong.append("small prints no reads on paper")
    return wrong


def main() -> int:
    if BROWSER is None:
        print("make browser: no browser is installed; on Debian: apt-get install chromium", file=sys.stderr)
        return 1
    shots = Path("build/browser").absolute()
    shots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pflow-browser-") as place, OpenAIServer(Path(place)) as server:
        loud = Path(place) / "loud.html"
        loud.write_text("<script>console.log('heard')</script>")
        wrong = [] if console(loud) else ["the console of this browser cannot be heard"]
        scenes = Scenes(Path(place), server.llm_user_path)
        for page in [*(scenes.page(name) for name in SAID if name != "runs"), scenes.runs()]:
            faults = faults_of(page, shots)
            print(f"{page.stem:8} {len(faults) or 'ok'}")
            wrong += faults
    print(*wrong, f"screenshots: {shots.relative_to(Path.cwd())}", sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
