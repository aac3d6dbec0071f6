#autoload
# Offers the values of a KIND: what they are for is the TITLE, and the CHOICES have | between them.

emulate -L zsh
setopt $_comp_options

local kind=$1 title=${${2:-value}//\%/%%} choices=$3
local -A titles=(values "$title") ends
local -a tags=(values) values texts suffixes expl

if [[ $kind = (flow|word) && -n $compstate[quote] ]]; then
  _pflow_text
  return
fi

case $kind in
  choice|bool)
    [[ $kind = bool ]] && choices='true|false'
    values=("${(@s:|:)choices}")
    ends[values]=$#values
    _pflow_show ;;
  model|run) _pflow_names ${kind}s ;;
  node) _pflow_names nodes flows ;;
  saved) _pflow_names flows ;;
  word) _pflow_names commands nodes tools flows ;;
  flow)
    _pflow_names flows nodes
    _wanted files expl 'file' _files -g '*.json(-.)' || (( compstate[nmatches] )) ;;
  file) _wanted files expl "$title" _files ;;
  directory)
    if [[ -n $choices ]]; then
      values=("${(@s:|:)choices}")
      ends[values]=$#values
      _pflow_show && return
    fi
    _wanted directories expl "$title" _files -/ ;;
  text) _message -e values "$title"; return 1 ;;
  *) return 1 ;;
esac
