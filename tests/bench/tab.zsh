#!/usr/bin/env zsh
# What one TAB costs in zsh: CPU milliseconds of the shell (user and system), as lines NAME<TAB>MS.
#
# An interactive zsh in a pseudo-terminal lists the completions of each line many times; its `times` before and after,
# divided; the median of five rounds. So zsh's own part of a TAB counts too; `:` is that part alone, on a command that has nothing to complete.
# "first" loads our functions anew each time, as the first TAB of a session does.
#
#   zsh tests/bench/tab.zsh

emulate -R zsh
zmodload zsh/zpty || exit
root=${0:A:h:h:h} scratch=$(mktemp -d) || exit
trap 'rm -rf $scratch' EXIT

mkdir -p $scratch/{bin,cache/pflow/completion,state/pflow/runs}
nodes=(list-files llm read-file shell write-file x{001..500})
for n in $nodes; do
  print '#!/bin/sh' >$scratch/bin/pflow-$n
done
chmod +x $scratch/bin/*
for n in {001..200}; do
  print "model-$n\tA model: number '$n' of \$many [of 200]"
done >$scratch/cache/pflow/completion/models
for n in $nodes; do
  print "$n\tWhat node $n does, in some words."
done >$scratch/cache/pflow/completion/nodes
for n in {001..200}; do
  mkdir $scratch/state/pflow/runs/01JDAAAAAAAAAAAAAAAAAAA$n
  print "01JDAAAAAAAAAAAAAAAAAAA$n\t2 minutes ago, done: summary-$n"
done >$scratch/cache/pflow/completion/runs

cat >$scratch/.zshrc <<'RC'
PS1= LISTMAX=10000 HOME=$SCRATCH XDG_CACHE_HOME=$SCRATCH/cache XDG_STATE_HOME=$SCRATCH/state
fpath=($ROOT/completions/zsh $fpath)
autoload -U compinit && compinit -u -D
calls=0
_nothing() { : }
compdef _nothing :
count() {
  (( calls++ ))
  compprefuncs+=(count)
}

seconds() {
  local text minutes total=0
  times >$SCRATCH/times
  for text in ${=$(<$SCRATCH/times)}; do
    minutes=${text%%m*}
    (( total += minutes * 60 + ${${text#*m}%s} ))
  done
  reply=$total
}

measure() {
  local -F before
  local -a costs
  local reply line=$1 forget=$2 times=20
  BUFFER=$line CURSOR=$#line
  zle list-choices
  calls=0 compprefuncs=(count)
  repeat 5; do
    seconds; before=$reply
    repeat $times; do
      if [[ -n $forget ]]; then
        for name in ${(k)functions[(I)_pflow*]}; do
          unfunction $name
          autoload -Uz $name
        done
      fi
      BUFFER=$line CURSOR=$#line
      zle list-choices
    done
    seconds
    costs+=($(( (reply - before) * 1000 / times )))
  done
  (( calls == 5 * times )) || print -r -- "${line}: $calls of $(( 5 * times )) completed" >>$SCRATCH/result
  costs=(${(n)costs})
  printf '%s%s\t%.1f\n' "$line" "$forget" $costs[3] >>$SCRATCH/result
}

all() {
  measure ': '
  measure 'pflow-llm --'
  measure 'pflow-llm --' ' (first)'
  measure 'pflow-llm --model='
  measure 'pflow trace '
  measure "pflow 'read-file => llm --"
  measure "pflow 'read-file => llm --" ' (first)'
  path+=($SCRATCH/bin)
  measure 'pflow '
  print end >>$SCRATCH/result
  BUFFER=
}
zle -N all
bindkey '^T' all
RC

zpty shell "env TERM=xterm ROOT=${(q)root} SCRATCH=$scratch ZDOTDIR=$scratch zsh -d -i"
zpty -w -n shell $'\x14'
until [[ -r $scratch/result && $(<$scratch/result) = *end ]]; do
  zpty -r -t shell >/dev/null || sleep 0.01
done
sed '$d' $scratch/result # before its end, which may run our trap too
zpty -d shell
