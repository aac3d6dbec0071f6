# Lets zsh complete pflow and pflow-…, and starts its completion if nothing has. Source it at the end of ~/.zshrc:
# compinit would read a list of completions that may be older than these.
fpath=("${${(%):-%x}:A:h}" $fpath)
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
autoload -Uz _pflow && compdef _pflow pflow -p 'pflow-*'
