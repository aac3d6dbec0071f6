"""Language models, through the llm library: choosing one, asking it, and its failures."""
