"""The agents that pflow knows: another one is another row."""

from pflow.kit.agents import claude
from pflow.kit.agents.task import Agent

AGENTS = {
    "claude": Agent(
        program="claude",
        how_to_get="npm install -g @anthropic-ai/claude-code, then set ANTHROPIC_API_KEY, or claude and /login",
        secrets=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        # An @FILE in a prompt would be read, wherever it is and whatever is allowed; a prompt may come from strangers.
        variables={"CLAUDE_CODE_DISABLE_ATTACHMENTS": "1"},
        words=claude.words,
        prompt=claude.as_text,
        read=claude.read,
    ),
}
