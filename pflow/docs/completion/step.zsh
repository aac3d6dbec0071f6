#autoload
# Completes one step of a flow, whose name is the word with the number given: by the function of its node.

emulate -L zsh
setopt $_comp_options

local name _pflow_flow
local -a files
integer at

words=(pflow "${(@)words[$1,-1]}")
(( CURRENT -= $1 - 2 ))
for (( at = CURRENT + 1; at <= $#words; at++ )); do
  [[ ${(Q)words[at]} = (::|=\>|=?*=\>|\>\>|\||\;) ]] && words[at,-1]=()
done

if (( CURRENT == 2 )); then
  _pflow_names nodes flows
  return
fi

name=${${${(Q)words[2]}#pflow-}%%:*}
[[ $name = [[:alnum:]._-]## ]] || return 1
for name in pflow-$name pflow-${name//_/-} pflow-${name//-/_}; do # - and _ are one in a name
  (( $+functions[_$name] )) && break
  files=($^fpath/_$name(N))
  (( $#files )) && autoload -Uz _$name && break
done
(( $+functions[_$name] )) || return 1

local curcontext=${curcontext%:*:*}:$name:
words[1,2]=($name)
(( CURRENT-- ))
_$name
