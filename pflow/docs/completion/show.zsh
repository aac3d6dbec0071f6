#autoload
# Offers `values`, each with its text of `texts` and its suffix of `suffixes`: those of each tag in `tags` up to its
# place in `ends`, in a group of its own with its title of `titles`, in the order given. Texts are shown as they are. A
# user without a format for headings sees those too, where there are several groups.

emulate -L zsh
setopt $_comp_options

local -a expl group heading lines extra some shown
local tag format separator text suffix
integer begin end from to at room width=0 ret=1

(( $#tags )) || return

if [[ -n ${(j::)texts} ]] && zstyle -T ":completion:${curcontext}:" verbose; then
  zstyle -s ":completion:${curcontext}:" list-separator separator || separator=--
  width=${#${(O@)values//?/x}[1]}
  room=$(( COLUMNS - width - $#separator - 3 ))
  (( room > 10 )) || room=10
  print -v text -f "%-${width}s ${separator//\%/%%} %.${room}s\n" -- "${(@)values:^texts}"
  lines=("${(@f)text}")
  for (( at = $texts[(i)]; at <= $#texts; at = $texts[(ib:at+1:)] )); do
    lines[at]=$values[at]
  done
fi

_tags $tags
while _tags; do
  begin=1
  for tag in $tags; do
    end=$ends[$tag]
    zstyle -s ":completion:${curcontext}:$tag" format format ||
      zstyle -s ":completion:${curcontext}:descriptions" format format || heading=(-X "$titles[$tag]")
    (( $#tags > 1 )) || heading=()
    _requested $tag && while _next_label -V $tag expl "$titles[$tag]"; do
      group=(-V $tag)
      (( $expl[(Ie)-default-] )) || group=()
      for (( from = begin; from <= end; from = to + 1 )); do
        for (( to = $#suffixes ? from : end; to < end; to++ )); do
          [[ $suffixes[to+1] = $suffixes[from] ]] || break
        done
        some=("${(@)values[from,to]}") shown=("${(@)lines[from,to]}")
        suffix=${suffixes[from]:-$_pflow_blank}
        extra=(${suffixes:+-M m:_=-} ${suffix:+-qS$suffix})
        (( $#lines )) && extra+=(-l -d shown)
        compadd "$group[@]" "$heading[@]" "$expl[@]" "$extra[@]" -a some && ret=0
      done
    done
    (( begin = end + 1 ))
  done
  (( ret )) || break
done

return ret
