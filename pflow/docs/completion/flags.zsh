#autoload
# Offers the flags in `flags` that are not `given` yet, in their groups. Letters only after a -.

emulate -L zsh
setopt $_comp_options

local -A titles=(
  data 'Data (into the store)' inputs 'Inputs' params 'Params (how it works)' options 'Options' common 'Common'
)
local -A ends
local -a values texts suffixes
local -aU tags
local group names kind choices text name suffix equals
integer row=1

if compset -S '=*'; then
  local _pflow_blank=
else
  equals==
fi

for group names kind choices text in "${(@)flags}"; do
  if [[ $kind = *+ ]] || (( ! $given[(Ie)$row] )); then
    for name in ${=names}; do
      [[ $PREFIX = -* || $name = --* ]] || continue
      suffix=
      [[ $name = --* && $kind != (switch|bool)* ]] && suffix=$equals
      values+=($name) texts+=("$text") suffixes+=("$suffix")
      [[ $kind = bool* ]] && values+=(--no-${name#--}) texts+=("not: $text") suffixes+=('')
    done
    (( $#values > ${ends[$tags[-1]]:-0} )) && tags+=($group) ends[$group]=$#values
  fi
  (( row += 5 ))
done

_pflow_show
