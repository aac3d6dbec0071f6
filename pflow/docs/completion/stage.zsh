#autoload
# Completes the words of one command by its table: `flags`, in rows of GROUP NAMES KIND CHOICES TEXT, and `arguments`,
# the kinds of its other words. A + after a kind says that it repeats; a word's choices stand behind a colon.

emulate -L zsh
setopt $_comp_options

local -A rows        # where the row of each name is
local -a given       # the rows of the flags that are there
local -a others      # where the words are that are no flags
local word name row pending value_of ended
integer at

for (( at = 1; at <= $#flags; at += 5 )); do
  for name in ${=flags[at+1]}; do
    rows[$name]=$at
    [[ $flags[at+2] = bool* ]] && rows[--no-${name#--}]=$at
  done
done

for (( at = 2; at <= $#words; at++ )); do
  word=${(Q)words[at]}
  if (( at == CURRENT )); then
    value_of=$pending pending=
  elif [[ -n $pending ]]; then
    pending=
  elif [[ -n $ended || $word != -?* ]]; then
    (( at < CURRENT )) && others+=($at)
  elif [[ $word = -- ]]; then
    (( at < CURRENT )) && ended=yes
  elif [[ $word = --* ]]; then
    name=${${word%%=*}//_/-}
    row=${rows[$name]}
    given+=($row)
    [[ -n $row && $word != *=* && $flags[row+2] != (switch|bool)* ]] && pending=$row
  else
    for name in ${(s::)word#-}; do
      row=${rows[-$name]}
      given+=($row)
      [[ -n $row && $flags[row+2] != (switch|bool)* ]] || continue
      [[ $word = *$name ]] && pending=$row
      break
    done
  fi
done

# The flow's word, the first or a later one, may be its first step: then what follows is that step's.
(( _pflow_flow && $#others >= _pflow_flow )) && _pflow_step $others[_pflow_flow] && return

if [[ -z $value_of$ended && $PREFIX = --*=* ]]; then
  name=${${PREFIX%%=*}//_/-}
  value_of=${rows[$name]}
  [[ -n $value_of ]] && compset -P 1 '*=' || return 1
fi

if [[ -n $value_of ]]; then
  _pflow_values ${flags[value_of+2]%+} "$flags[value_of+4]" "$flags[value_of+3]"
  return
fi

if [[ -z $ended && $PREFIX = -* ]]; then
  _pflow_flags
  return
fi

local kind=$arguments[$#others+1]
[[ -z $kind && $arguments[-1] = *+* ]] && kind=$arguments[-1]
[[ -n $kind ]] && _pflow_values ${${kind%%:*}%+} '' "${${(M)kind%%:*}#:}" && return
[[ -z $ended && -z $PREFIX ]] && _pflow_flags
