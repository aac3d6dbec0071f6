"""Language models, through the llm library: which one to ask, asking it, and what can go wrong."""
