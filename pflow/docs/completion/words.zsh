#autoload
# Completes what follows `pflow`: a word that it knows and that word's flags, or steps with separators between them.

emulate -L zsh
setopt $_comp_options

local name=${(Q)words[2]} data=${XDG_DATA_HOME:-$HOME/.local/share}/pflow
integer at _pflow_flow # where a command's flow stands among its words

for (( at = CURRENT - 1; at > 1; at-- )); do
  [[ ${(Q)words[at]} = (::|=\>|=?*=\>|\>\>|\||\;) ]] && { _pflow_step $(( at + 1 )); return }
done

if (( CURRENT == 2 )); then
  _pflow_stage
elif (( $_pflow_commands[(Ie)$name] % 2 )) || [[ $name = SENTENCE ]]; then
  _pflow_flow=$arguments[(I)flow*]
  local curcontext=${curcontext%:*:*}:pflow-$name:
  shift words
  (( CURRENT-- ))
  _pflow_stage
elif _pflow_step 2; then
  return
elif [[ -r $data/flows/$name.pflow.json || $name = *[[:space:]]*(=\>|::|\|)* ]]; then
  words[1]=(pflow run)
  (( CURRENT++ ))
  _pflow
elif [[ $name = *[[:space:]]* ]]; then
  words[1]=(pflow SENTENCE)
  (( CURRENT++ ))
  _pflow
else
  return 1
fi
