"""The github-get-pr node: get a pull request from GitHub."""

from pflow.kit.github.reader import Reader
from pflow.node import Any, Node, Shared


class GithubGetPr(Reader, Node):
    """Get a pull request from GitHub, with the list of its changed files.

    `pr` is a text for people and models; `pr_data` has title, body, state, url, user.login, head.ref, base.ref,
    files[0].filename, with --diff also diff, and more, under GitHub's names. Key and GITHUB_API_URL are as for
    github-get-issue.

    Interface:
    - Reads: shared["repo"]: str = null  # OWNER/NAME or its URL; without it GH_REPO, else that of the remote origin
    - Reads: shared["pr_number"]: str [flag pr] [word]  # its number, #12, or its URL
    - Writes: shared["pr"]: str [pipe]  # its title, body and files, as a text
    - Writes: shared["pr_title"]: str  # its title
    - Writes: shared["pr_data"]: dict{number: int, title: str, body: str, state: str, draft: bool, merged: bool, merged_at: any, url: str, user: dict{url: str, login: str, name: str}, labels: list[dict{name: str, description: str}], assignees: list, milestone: any, created_at: str, updated_at: str, closed_at: any, comments: int, head: dict{ref: str, label: str, user: dict, sha: str}, base: dict{ref: str, label: str, user: dict, sha: str}, additions: int, deletions: int, changed_files: int, files: list[dict{additions: int, deletions: int, filename: str, status: str, sha: str}], diff: str}  # the pull request as data
    - Params: diff: bool = false  # get its diff too
    - Effects: network
    - Repeats: yes

    Examples:
        pflow-github-get-pr --repo=owner/repo --pr=2
        pflow-github-get-pr 2 --repo=owner/repo --diff | pflow-llm --prompt='Review this'
    """

    number = "pr_number"

    def exec(self, prepared: tuple[str, int]) -> dict[str, Any]:
        from pflow.kit.github.client import DIFF, Client
        from pflow.kit.github.reader import reduced

        repo, number = prepared
        github = Client(f"cannot get '{repo}#{number}'", "there is no such pull request", node=self)
        path = f"/repos/{repo}/pulls/{number}"
        found = {**reduced(github.get(path)), "files": reduced([*github.rows(f"{path}/files")])}
        return {**found, "diff": github.get(path, accept=DIFF)} if self.params["diff"] else found

    def post(self, shared: Shared, prepared: object, found: dict[str, Any]) -> None:
        from pflow.kit.github.reader import as_text, files_text

        shared["pr"] = as_text(found, [], files_text(found["files"]), found.get("diff", ""))
        shared["pr_title"] = found["title"]
        shared["pr_data"] = found
