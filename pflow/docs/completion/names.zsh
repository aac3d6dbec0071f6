#autoload
# Offers the names of each kind given: commands, tools, nodes, flows, runs, models. No program is run: names are those
# of files, and what is said of them stands in the lists that pflow leaves in its cache.

emulate -L zsh
setopt $_comp_options

local -A titles=(
  commands 'Commands' nodes 'Nodes' tools 'Tools' flows 'Saved flows' runs 'Runs' models 'Models'
)
local data=${XDG_DATA_HOME:-$HOME/.local/share}/pflow state=${XDG_STATE_HOME:-$HOME/.local/state}/pflow
local list=${XDG_CACHE_HOME:-$HOME/.cache}/pflow/completion
local -A about ends
local -a tags values texts suffixes lines listed pairs own
local -aU names
local kind name text node='[A-Za-z0-9][A-Za-z0-9_-]#'

for kind; do
  names=() lines=() about=()
  [[ -r $list/$kind ]] && lines=(${(f)"$(<$list/$kind)"})
  listed=("${(@)lines%%$'\t'*}")
  case $kind in
    commands) about=("${(@)_pflow_commands}"); for name text in "${(@)_pflow_commands}"; do names+=($name); done ;;
    tools) about=("${(@)_pflow_tools}"); for name text in "${(@)_pflow_tools}"; do names+=($name); done ;;
    models) names=("${(@)listed}") ;;
    nodes)
      own=(${(s.:.)PFLOW_NODES} $data/nodes)
      zstyle -t ":completion:${curcontext}:nodes" rehash && rehash
      own=(${(k)commands[(I)pflow-$~node]} $^own/pflow-$~node(NoN-*:t) $^own/($~node~pflow-*).py(NoN-.:t:r:gs/_/-/))
      own=(${${own#pflow-}:|_pflow_tools})
      names=(${(o)own}) ;;
    flows) names=($data/flows/*.pflow.json(N-.:t)); names=("${(@)names%.pflow.json}") ;;
    runs) names=($state/runs/[[:alnum:]](#c26)(N/On:t)) ;;
  esac
  (( $#names )) || continue
  tags+=($kind) values+=($names)
  ends[$kind]=$#values
  if [[ "$names" = "$listed" ]]; then # then this takes less
    texts+=("${(@)lines#*$'\t'}")
    continue
  fi
  pairs=("${(@ps:\t:)lines}")
  (( $#lines && $#pairs == 2 * $#lines )) && about=("${(@)pairs}")
  texts+=("${(@)names/(#m)*/$about[$MATCH]}")
done

_pflow_show || return
[[ $1 != runs ]] || compstate[list]=list # the part that all ids share tells nothing
