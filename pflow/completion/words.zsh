#autoload
# Completes what follows `pflow`: a word that it knows and that word's flags, or steps with separators between them.

emulate -L zsh
setopt $_comp_options

local name=${(Q)words[2]} data=${XDG_DATA_HOME:-$HOME/.local/share}/pflow _pflow_flow
integer at

for (( at = CURRENT - 1; at > 1; at-- )); do
  [[ ${(Q)words[at]} = (::|=\>|=?*=\>|\>\>|\||\;) ]] && { _pflow_step $(( at + 1 )); return }
done

if (( CURRENT == 2 )); then
  _pflow_stage
elif (( $_pflow_commands[(Ie)$name] % 2 )); then
  [[ $name = (run|check|explain|export) ]] && _pflow_flow=yes
  local curcontext=${curcontext%:*:*}:pflow-$name:
  shift words
  (( CURRENT-- ))
  _pflow_stage
elif _pflow_step 2; then
  return
elif [[ -r $data/flows/$name.pflow.json ]]; then
  words[1]=(pflow run)
  (( CURRENT++ ))
  _pflow
else
  return 1
fi
