"""Help, man pages and completions, made from one declaration of each command."""
