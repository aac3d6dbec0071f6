#autoload
# Completes a flow that is one quoted word: the step that the cursor is in, by the words after the last separator.

emulate -L zsh
setopt $_comp_options

local text=$PREFIX _pflow_blank=' ' quote # in quotes zsh itself puts no blank after a name
local -a tokens
integer at

[[ $compstate[quote] = \' ]] || text=${text//(#b)\\([\\\$\`\"])/$match[1]}
tokens=("${(@z):-${text}x}") # the x is the word at the cursor, be it empty
for (( at = $#tokens - 1; at; at-- )); do
  [[ $tokens[at] = (\||\;|\>\>|::) || $tokens[at-1,at] = (=|=*=)' >' ]] && break
done

compset -q || return
# A quote that is still open inside the text: what it holds goes on with backslashes.
for quote in \" \'; do
  (( ${#PREFIX//[^$quote]} % 2 )) && PREFIX=${(q)${(Q):-$PREFIX$quote}} && break
done
words=(pflow "${(@)tokens[at+1,-2]}" "$PREFIX")
CURRENT=$#words
_pflow_step 2
