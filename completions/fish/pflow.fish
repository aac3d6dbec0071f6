# What completes pflow in fish 3.5 and newer.
builtin -q path; or return

set -q __pflow_files; or complete -c pflow -f -k -a '(__pflow_complete pflow)'
set -g __pflow_files (status dirname)

# What every completion of pflow's stands on. Builtins only: TAB starts no program, and nothing is evaluated.
#
# A table is a function that sets what one command takes:
#   __pflow_flags   what is offered for its flags, lines of NAME<TAB>DESCRIPTION, data first
#   __pflow_values  for each flag that has a value NAME<TAB>KIND, and after choice the choices; NAME= of a bool
#   __pflow_words   the kinds of the words that are no flags, the last with a … where there may be many; <TAB>choices

function __pflow_complete --argument-names table
    set -l token (__pflow_token)
    set -l words (commandline -opc)
    if test "$table" = pflow
        __pflow_driver "$token" $words[2..]
    else
        __pflow_command $table "$token" $words[2..]
    end
end

# The word at the cursor as the program would get it, an open quote closed. One of several lines cannot be completed.
function __pflow_token
    set -l raw (commandline -ct)
    set -q raw[2]; and return
    string unescape -- "$raw"
    or string unescape -- "$raw'"
    or string unescape -- "$raw\""
    or echo -- "$raw"
end

# What may follow `pflow`.
function __pflow_driver --argument-names token
    set -l words $argv[2..]
    set -l at (__pflow_last_sign $words)
    if test $at -gt 0
        __pflow_step "$token" $words[(math $at + 1)..]
    else if not set -q words[1]
        __pflow_first "$token"
    else if functions -q "__pflow_table_pflow $words[1]"
        $__pflow_table_prefix"pflow $words[1]"
        if set -q __pflow_words[1]; and string match -q -- 'flow*' $__pflow_words
            __pflow_of_flow "pflow $words[1]" "$token" $words[2..]
        else
            __pflow_command "pflow $words[1]" "$token" $words[2..]
        end
    else if string match -qr -- '\s.*(?:=>|::|\|)' $words[1]
        __pflow_command 'pflow run' "$token" $words
    else if string match -qr -- '\s' $words[1]
        __pflow_command 'pflow SENTENCE' "$token" $words
    else if test "$words[1]" = help
        __pflow_first "$token"
    else
        __pflow_step "$token" $words
    end
end

# Where the last separator stands among words; 0 without one.
function __pflow_last_sign
    set -l at (count $argv)
    while test $at -gt 0
        string match -qr -- '^(?:::|=>|>>|\||;|=.+=>)$' $argv[$at]; and break
        set at (math $at - 1)
    end
    echo $at
end

# The first word: a command, a node, a saved flow, a tool, or a flow as one text.
function __pflow_first --argument-names token
    if string match -qr -- '\s' $token
        __pflow_text "$token"
    else if string match -q -- '-*' $token
        __pflow_command pflow "$token"
    else
        printf '%s\n' $__pflow_commands
        __pflow_node "$token" '[node] '
        __pflow_flow "$token" '[flow] '
        printf '%s\n' $__pflow_tools
    end
end

# A command that takes a flow: its own flags, then a file, a saved flow, or steps, whose flags come first.
function __pflow_of_flow --argument-names table token
    set -l words $argv[3..]
    $__pflow_table_prefix$table
    set -l nth (string match -q -- 'flow*' $__pflow_words[1]; and echo 1; or echo 2)
    set -l at (__pflow_nth_word $nth $words)
    if test $at -gt 0
        __pflow_value "$token" "$words[-1]"; and return
        __pflow_step "$token" $words[$at..]
        $__pflow_table_prefix$table
        __pflow_flag "$token"
    else if string match -qr -- '^[^-].*\s' $token
        __pflow_text "$token"
    else
        __pflow_command $table "$token" $words
    end
end

# A step of a flow: the name of a node, or what the node takes.
function __pflow_step --argument-names token
    set -l words $argv[2..]
    if not set -q words[1]
        __pflow_node
        set -l flows (__pflow_flow)
        string join \n -- flow:$flows
        return
    end
    set -l type (string replace -r '^pflow-' '' -- $words[1] | string split -f 1 :)
    __pflow_command pflow-$type "$token" $words[2..]
end

# A flow inside one word: completes the last word of its last step. What stands before is offered with it.
function __pflow_text --argument-names text
    set -l sign '(?:\s(?:=[^\s=]+=>|=>|>>|::)(?=\s)|[|;])'
    set -l plain '(?:[^\'"]|"[^"]*"|\'[^\']*\')*+'
    set -l step (string replace -r -- '^(?:[^\'"]|"[^"]*"|\'[^\']*\')*'$sign '' "$text")
    set -l words (string match -ra -- '(?:"[^"]*"?|\'[^\']*\'?|[^\s"\'])+' "$step")
    set -l token ''
    if string match -qr -- '\S$' "$step"
        set token $words[-1]
        set -e words[-1]
    end
    set -l before (string sub -l (math (string length -- "$text") - (string length -- "$token")) -- "$text")
    set -l found (__pflow_step "$token" $words | string match -rv -- '^[^\t]*[ \'"|;\\\\]')
    set -q found[1]; and printf '%s\n' $before$found
end

# What a command takes that has a table: a flag's value, a flag, or a word of its own.
function __pflow_command --argument-names table token
    set -l words $argv[3..]
    __pflow_load $table
    __pflow_value "$token" "$words[-1]"; and return
    if string match -q -- '-*' $token
        __pflow_flag "$token"
        return
    end
    set -l kind (__pflow_kind_of_word $words)
    if test -n "$kind"
        __pflow_among "$token" (string split \t -- $kind)
    else if test -z "$token"
        __pflow_flag --
    end
end

# Set what a command takes: from its table, from the file that has it, or as every stage has it.
function __pflow_load --argument-names table
    set -l name (string replace -f -r '^pflow-' '' -- $table)
    # - and _ are one in a node's name
    for spelling in $table pflow-(string replace -a _ - -- $name) pflow-(string replace -a - _ -- $name)
        if not functions -q "__pflow_table_$spelling"; and not string match -q -- '*/*' $spelling
            for directory in $__pflow_files $fish_complete_path
                if test -f "$directory/$spelling.fish"
                    source "$directory/$spelling.fish"
                    break
                end
            end
        end
        if functions -q "__pflow_table_$spelling"
            $__pflow_table_prefix$spelling
            return
        end
    end
    $__pflow_table_prefix'any stage'
end

set -g __pflow_table_prefix __pflow_table_

function __pflow_flag --argument-names token
    if string match -q -- '--*' $token
        string match -- '--*' $__pflow_flags
    else
        printf '%s\n' $__pflow_flags
    end
end

# Offer values where the cursor is at one: after --flag=, or after a flag that takes one. Fails where it is not.
function __pflow_value --argument-names token before
    if set -l parts (string match -r -- '^(-[^=]*=)(.*)$' "$token")
        set -l found (__pflow_values_of (string sub -e -1 -- $parts[2]) "$parts[3]"; or __pflow_values_of $parts[2])
        set -q found[1]; and printf '%s\n' $parts[2]$found
        return 0
    end
    string match -q -- '-*' $before; and __pflow_values_of $before "$token"
end

# The values of a flag. Fails where it takes none.
function __pflow_values_of --argument-names flag token
    set -l entry (__pflow_entry $flag)
    set -q entry[1]; or return
    set -l fields (string split \t -- $entry[1])
    __pflow_among "$token" $fields[2..]
    return 0
end

# The choices that there are; of a kind that has more, those too.
function __pflow_among --argument-names token kind
    set -q argv[3]; and printf '%s\n' $argv[3..]
    test $kind = choice; or __pflow_offer $kind "$token"
end

# What the table says of a flag's values. Fails where it takes none.
function __pflow_entry --argument-names flag
    string match -r -- '^'(string escape --style=regex -- "$flag")'\t.*' $__pflow_values
end

# The kind of the word that comes next.
function __pflow_kind_of_word
    set -l count 1
    while test (__pflow_nth_word $count $argv) -gt 0
        set count (math $count + 1)
    end
    if set -q __pflow_words[$count]
        string replace … '' -- $__pflow_words[$count]
    else
        string replace -f … '' -- $__pflow_words[-1]
    end
end

# Where a word stands, the first or a later one, of those that are neither a flag nor a flag's value; 0 without one.
function __pflow_nth_word --argument-names nth
    set -l at 0
    set -l before ''
    for word in $argv[2..]
        set at (math $at + 1)
        if not string match -q -- '-*' $word; and not __pflow_entry $before >/dev/null
            set nth (math $nth - 1)
            test $nth -eq 0; and echo $at; and return
        end
        set before $word
    end
    echo 0
end

# Everything of a kind: file, directory, model, node, flow, run, word; nothing for text.
function __pflow_offer --argument-names kind token
    switch $kind
        case file directory model run
            __pflow_$kind "$token"
        case node
            __pflow_node
            __pflow_flow
        case saved
            __pflow_flow
        case flow
            __pflow_flow
            __pflow_node
            __pflow_file "$token" | string match -r -- '.*(?:/|\.json)$'
        case word
            __pflow_first "$token"
    end
end

# A command that fish knows nothing of has files for arguments.
function __pflow_file --argument-names token
    complete -C "__pflow_nothing "(string escape -n -- "$token" | string replace -r '^\\\\~' '~')
end

function __pflow_directory --argument-names token
    __pflow_file "$token" | string match -- '*/'
end

function __pflow_model
    __pflow_read models
    string join \n -- $__pflow_lines
end

# The nodes, each with what the list says; `tag` goes before that.
function __pflow_node --argument-names token tag
    set -l own (string split -n : -- "$PFLOW_NODES") (__pflow_home XDG_DATA_HOME .local/share)/nodes
    set -l directories (path resolve -- $PATH $own | path sort -u) # /bin is /usr/bin
    set -l programs $directories/pflow-*
    set -l classes $own/*.py
    set -l name '([A-Za-z0-9][A-Za-z0-9_-]*)'
    set -l wanted '^.*/pflow-(?!(?:'(string join '|' $__pflow_tool_names)')$)'$name'$'
    set -l own_names (string replace -rf '^.*/'$name'\.py$' '$1' -- $classes | string replace -a _ -)
    set -g __pflow_names (string replace -rf $wanted '$1' -- $programs) $own_names
    __pflow_read nodes
    __pflow_as_listed "$tag"; and return
    __pflow_merge
    # A listed name was a program's when it was listed; the others are looked at, which takes its time.
    set -l others (__pflow_unlisted)
    if set -q others[20]
        set programs (path filter -fx -- $programs)
        set __pflow_names (string replace -rf $wanted '$1' -- $programs) $own_names
        __pflow_merge
    else
        for other in $others
            contains -- $other $own_names; or path filter -qfx -- $directories/pflow-$other; or __pflow_drop $other
        end
    end
    __pflow_described "$tag"
end

function __pflow_flow --argument-names token tag
    set -l flows (__pflow_home XDG_DATA_HOME .local/share)/flows/*.pflow.json
    set -g __pflow_names (string replace -rf '^.*/([^/]*)\.pflow\.json$' '$1' -- $flows)
    __pflow_read flows
    __pflow_merge
    __pflow_described "$tag"
end

# Newest first. What stands between the letters keeps fish from sorting digits as numbers.
function __pflow_run
    set -l directories (__pflow_home XDG_STATE_HOME .local/state)/runs/*/
    set -g __pflow_names (string match -r -- '(?<=/)[0-9A-Z]{26}(?=/$)' $directories)
    set -q __pflow_names[1]; or return
    __pflow_read runs
    if not __pflow_as_listed ''
        __pflow_merge
        set -l letters (__pflow_described '' | string replace -ra '\G([0-9A-Z])' '$1_' | path sort -r)
        string replace -ra '\G([0-9A-Z])_' '$1' -- $letters
    end
    echo last\t'the newest'
end

# The list that was read, where it has the names in __pflow_names and no other: what takes least. Else it fails.
function __pflow_as_listed --argument-names tag
    set -q __pflow_lines[1]; or return
    set -l names (path sort -u -- $__pflow_names)
    set -l listed (path sort -u -- (string split -f 1 \t -- $__pflow_lines))
    test "$names" = "$listed"; and string replace \t \t$tag -- $__pflow_lines
end

# Put __pflow_names and __pflow_lines into one text, sorted: the lines of a name come behind it, the fullest last.
function __pflow_merge
    set -g __pflow_merged
    set -q __pflow_names[1]; and set __pflow_merged (path sort -u -- $__pflow_names $__pflow_lines | string collect -N)
end

# The names in that text without a line.
function __pflow_unlisted
    string match -rag -- '(?m)^([^\t\n]+)$(?!\n\1\t)' $__pflow_merged
end

function __pflow_drop --argument-names name
    set __pflow_merged (string replace -r -- "(?m)^$name\n" '' $__pflow_merged | string collect -N)
end

# The names in that text, each with what was said of it. Other lines are of what is no more.
function __pflow_described --argument-names tag
    set -l others '(?:.*\t.*\n)*+'
    set -l name '(?m)(?:\A'$others')?^([^\t\n]+)\n(?:\1\t(.*)\n)*+'
    set -l text (string replace -ra -- $name$others '$1'\t$tag'$2'\n $__pflow_merged | string collect)
    test -n "$text"; and printf '%s\n' $text
end

# Take what a list has that pflow's normal runs keep fresh: lines of VALUE<TAB>DESCRIPTION.
function __pflow_read --argument-names list
    set -g __pflow_lines
    set -l file (__pflow_home XDG_CACHE_HOME .cache)/completion/$list
    if set -q file[1]; and test -r $file
        read -z -d \n -a -g __pflow_lines <$file
        test -n "$__pflow_lines[-1]"; or set -e __pflow_lines[-1]
        test $list = runs; and set __pflow_lines $__pflow_lines[-1..1] # what was said last is true
    end
end

# pflow's directory under an XDG variable's, or under this one at home.
function __pflow_home --argument-names variable default
    if string match -q '/*' "$$variable"
        echo $$variable/pflow
    else if test -z "$$variable"; and test -n "$HOME"
        echo $HOME/$default/pflow
    end
end

function '__pflow_table_pflow'
    set -g __pflow_flags \
        '--help'\t'[options] print this help' \
        '--version'\t'[options] print the version' \
        '-h'\t'[options] print this help'
    set -g __pflow_values
    set -g __pflow_words \
        'word'
end

function '__pflow_table_pflow check'
    set -g __pflow_flags \
        '--json'\t'[options] print one JSON document: findings, and what it needs, gives, touches' \
        '--strict'\t'[options] take warnings for errors' \
        '--schema'\t'[options] print the JSON schema of a flow\'s file; no flow is needed' \
        '--color='\t'[options] print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set' \
        '--help'\t'[options] print this help' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--color'\t'choice'\t'auto'\t'always'\t'never'
    set -g __pflow_words \
        'flow…'
end

function '__pflow_table_pflow explain'
    set -g __pflow_flags \
        '--graph'\t'[options] draw the flow\'s steps and edges instead' \
        '--json'\t'[options] print it as one JSON document' \
        '--color='\t'[options] print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set' \
        '--help'\t'[options] print this help' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--color'\t'choice'\t'auto'\t'always'\t'never'
    set -g __pflow_words \
        'flow…'
end

function '__pflow_table_pflow export'
    set -g __pflow_flags \
        '--to='\t'[options] what to write it as' \
        '--output='\t'[options] write it to FILE, whole or not at all; scripts become executable' \
        '--help'\t'[options] print this help' \
        '-o'\t'[options] write it to FILE, whole or not at all; scripts become executable' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--to'\t'choice'\t'dot'\t'mermaid'\t'pipe'\t'python'\t'sh' \
        '-o'\t'file' \
        '--output'\t'file'
    set -g __pflow_words \
        'flow…'
end

function '__pflow_table_pflow find'
    set -g __pflow_flags \
        '--most='\t'[options] show so many at most; 5 without it' \
        '--by='\t'[options] words asks no model; meaning fails where the embedding model does' \
        '--json'\t'[options] print them as a JSON list' \
        '--color='\t'[options] print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set' \
        '--help'\t'[options] print this help' \
        '-n'\t'[options] show so many at most; 5 without it' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '-n'\t'text' \
        '--most'\t'text' \
        '--by'\t'choice'\t'meaning'\t'words' \
        '--color'\t'choice'\t'auto'\t'always'\t'never'
    set -g __pflow_words \
        'text…'
end

function '__pflow_table_pflow import'
    set -g __pflow_flags \
        '--output='\t'[options] write it to FILE, whole or not at all' \
        '--help'\t'[options] print this help' \
        '-o'\t'[options] write it to FILE, whole or not at all' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '-o'\t'file' \
        '--output'\t'file'
    set -g __pflow_words \
        'text'
end

function '__pflow_table_pflow list'
    set -g __pflow_flags \
        '--json'\t'[options] print one JSON list: name, description, inputs, outputs, types' \
        '--color='\t'[options] print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set' \
        '--help'\t'[options] print this help' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--color'\t'choice'\t'auto'\t'always'\t'never'
    set -g __pflow_words
end

function '__pflow_table_pflow mcp'
    set -g __pflow_flags \
        '--read-only'\t'[options] offer only what changes nothing: no files, no commands, no network' \
        '--help'\t'[options] print this help' \
        '-h'\t'[options] print this help'
    set -g __pflow_values
    set -g __pflow_words \
        'choice'\t'serve' \
        'node…'
end

function '__pflow_table_pflow models'
    set -g __pflow_flags \
        '--json'\t'[options] print a JSON list' \
        '--help'\t'[options] print this help' \
        '-h'\t'[options] print this help'
    set -g __pflow_values
    set -g __pflow_words \
        'text' \
        'text'
end

function '__pflow_table_pflow new-node'
    set -g __pflow_flags \
        '--lang='\t'[options] the language: python (default), sh, js' \
        '--dir='\t'[options] put it into DIR, and not where pflow finds it by itself' \
        '--print'\t'[options] print it, and write no file' \
        '--help'\t'[options] print this help' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--lang'\t'choice'\t'python'\t'sh'\t'js' \
        '--dir'\t'directory'
    set -g __pflow_words \
        'text'
end

function '__pflow_table_pflow nodes'
    set -g __pflow_flags \
        '--json'\t'[options] print their interfaces as one JSON list' \
        '--search='\t'[options] only those of which all these words are said, best first' \
        '--color='\t'[options] print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set' \
        '--help'\t'[options] print this help' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--search'\t'text' \
        '--color'\t'choice'\t'auto'\t'always'\t'never'
    set -g __pflow_words \
        'node…'
end

function '__pflow_table_pflow plan'
    set -g __pflow_flags \
        '--pipe'\t'[options] print the flow in pipe syntax' \
        '--model='\t'[options] the model that plans' \
        '--fresh'\t'[options] ask the model anew, also for what was planned before' \
        '--timeout='\t'[options] end planning after so many seconds, with 124' \
        '--wire'\t'[options] propose the mappings that a flow made by hand lacks: pflow plan --wire FLOW' \
        '--edit'\t'[options] change a flow as a sentence says: pflow plan --edit FLOW SENTENCE' \
        '--write'\t'[options] put the flow that --wire or --edit changed back where it was; asks first' \
        '--yes'\t'[options] let --write ask nothing' \
        '--json'\t'[options] print errors as JSON too; with --wire or --edit the change' \
        '--color='\t'[options] print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set' \
        '--help'\t'[options] print this help' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--model'\t'model' \
        '--timeout'\t'text' \
        '--color'\t'choice'\t'auto'\t'always'\t'never'
    set -g __pflow_words \
        'flow…'
end

function '__pflow_table_pflow remove'
    set -g __pflow_flags \
        '--help'\t'[options] print this help' \
        '-h'\t'[options] print this help'
    set -g __pflow_values
    set -g __pflow_words \
        'saved…'
end

function '__pflow_table_pflow run'
    set -g __pflow_flags \
        '--from='\t'[common] what stdin holds' \
        '--no-stdin'\t'[common] read nothing: this stage starts the pipe' \
        '--allow-empty'\t'[common] take an empty pipe as an empty text' \
        '--raw'\t'[common] print only what the pipe carries, as it is' \
        '--json'\t'[common] print the store document, even to a terminal' \
        '--quiet'\t'[common] print nothing' \
        '--dry-run'\t'[common] say what would be read and done, and touch nothing' \
        '--timeout='\t'[common] end the run after so many seconds, with 124' \
        '--debug'\t'[common] show the traceback of a failure' \
        '--verbose'\t'[common] say where each value comes from and goes to' \
        '--help'\t'[common] print this help' \
        '--jobs='\t'[common] how many branches of a fork run at once; without it, all' \
        '--isolate'\t'[common] run each step in a process of its own' \
        '--show-store'\t'[common] print the final store on stderr' \
        '-n'\t'[common] read nothing: this stage starts the pipe' \
        '-r'\t'[common] print only what the pipe carries, as it is' \
        '-j'\t'[common] print the store document, even to a terminal' \
        '-q'\t'[common] print nothing' \
        '-v'\t'[common] say where each value comes from and goes to' \
        '-h'\t'[common] print this help'
    set -g __pflow_values \
        '--from'\t'choice'\t'auto'\t'store'\t'text'\t'json' \
        '--timeout'\t'text' \
        '--jobs'\t'text'
    set -g __pflow_words \
        'flow'
end

function '__pflow_table_pflow runs'
    set -g __pflow_flags \
        '--json'\t'[options] print a JSON list' \
        '--color='\t'[options] print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set' \
        '--help'\t'[options] print this help' \
        '-n'\t'[options] only the newest N' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '-n'\t'text' \
        '--color'\t'choice'\t'auto'\t'always'\t'never'
    set -g __pflow_words
end

function '__pflow_table_pflow save'
    set -g __pflow_flags \
        '--description='\t'[options] what the flow is for, in your words' \
        '--command'\t'[options] also make pflow-NAME, a program on PATH that runs it' \
        '--force'\t'[options] replace another flow of this name without asking' \
        '--help'\t'[options] print this help' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--description'\t'text'
    set -g __pflow_words \
        'text' \
        'flow…'
end

function '__pflow_table_pflow setup'
    set -g __pflow_flags \
        '--prefix='\t'[options] put them below DIR/share; without it, where a user\'s own are found' \
        '--dry-run'\t'[options] say what would be done, and touch nothing' \
        '--undo'\t'[options] take away exactly what an earlier setup put there' \
        '--zshrc'\t'[options] also add the line that zsh needs to ~/.zshrc' \
        '--verbose'\t'[options] print a line for each file' \
        '--help'\t'[options] print this help' \
        '-v'\t'[options] print a line for each file' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--prefix'\t'directory'
    set -g __pflow_words
end

function '__pflow_table_pflow show'
    set -g __pflow_flags \
        '--json'\t'[options] print its file, exactly as it is' \
        '--old'\t'[options] show what it was before it was last replaced or removed' \
        '--color='\t'[options] print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set' \
        '--help'\t'[options] print this help' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--color'\t'choice'\t'auto'\t'always'\t'never'
    set -g __pflow_words \
        'saved'
end

function '__pflow_table_pflow test-node'
    set -g __pflow_flags \
        '--only='\t'[options] do this check alone, or those whose names hold this' \
        '--list'\t'[options] print the checks, and do none' \
        '--json'\t'[options] print the report as one JSON document' \
        '--verbose'\t'[options] show each command that was run' \
        '--timeout='\t'[options] end a run after so long; after 30 without it' \
        '--color='\t'[options] print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set' \
        '--help'\t'[options] print this help' \
        '-k'\t'[options] do this check alone, or those whose names hold this' \
        '-v'\t'[options] show each command that was run' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '-k'\t'text' \
        '--only'\t'text' \
        '--timeout'\t'text' \
        '--color'\t'choice'\t'auto'\t'always'\t'never'
    set -g __pflow_words \
        'file' \
        'text…'
end

function '__pflow_table_pflow trace'
    set -g __pflow_flags \
        '--store'\t'[options] add the final store: keys, types and sizes; a piped one\'s values too' \
        '--json'\t'[options] print one JSON document: trace, snapshot and events' \
        '--chrome'\t'[options] print a timeline for Perfetto or chrome://tracing' \
        '--otlp'\t'[options] print OpenTelemetry spans, as lines of OTLP\'s JSON' \
        '--color='\t'[options] print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set' \
        '--help'\t'[options] print this help' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--color'\t'choice'\t'auto'\t'always'\t'never'
    set -g __pflow_words \
        'run'
end

function '__pflow_table_pflow SENTENCE'
    set -g __pflow_flags \
        '--yes'\t'[options] run it without asking, as far as that is allowed' \
        '--allow='\t'[options] what --yes may do too: commands, paths (any), anything, or a directory, for the files below it' \
        '--model='\t'[options] the model that plans' \
        '--fresh'\t'[options] ask the model anew' \
        '--timeout='\t'[options] end planning, and the run, after so many seconds each, with 124' \
        '--dry-run'\t'[options] show the flow and what it would do, and run nothing' \
        '--help'\t'[options] print this help' \
        '--from='\t'[common] what stdin holds' \
        '--no-stdin'\t'[common] read nothing: this stage starts the pipe' \
        '--allow-empty'\t'[common] take an empty pipe as an empty text' \
        '--raw'\t'[common] print only what the pipe carries, as it is' \
        '--json'\t'[common] print the store document, even to a terminal' \
        '--quiet'\t'[common] print nothing' \
        '--debug'\t'[common] show the traceback of a failure' \
        '--verbose'\t'[common] say where each value comes from and goes to' \
        '--jobs='\t'[common] how many branches of a fork run at once; without it, all' \
        '--isolate'\t'[common] run each step in a process of its own' \
        '--show-store'\t'[common] print the final store on stderr' \
        '-h'\t'[options] print this help' \
        '-n'\t'[common] read nothing: this stage starts the pipe' \
        '-r'\t'[common] print only what the pipe carries, as it is' \
        '-j'\t'[common] print the store document, even to a terminal' \
        '-q'\t'[common] print nothing' \
        '-v'\t'[common] say where each value comes from and goes to'
    set -g __pflow_values \
        '--allow'\t'directory'\t'commands'\t'paths'\t'anything' \
        '--model'\t'model' \
        '--timeout'\t'text' \
        '--from'\t'choice'\t'auto'\t'store'\t'text'\t'json' \
        '--jobs'\t'text'
    set -g __pflow_words \
        ''
end

function '__pflow_table_any stage'
    set -g __pflow_flags \
        '--from='\t'[common] what stdin holds' \
        '--no-stdin'\t'[common] read nothing: this stage starts the pipe' \
        '--allow-empty'\t'[common] take an empty pipe as an empty text' \
        '--id='\t'[common] name this step: its data and writes go under NAME' \
        '--map-in='\t'[common] read KEY from this place in the store' \
        '--map-out='\t'[common] write KEY to this place in the store' \
        '--verbatim'\t'[common] no templates in the flags: a $ is a $' \
        '--raw'\t'[common] print only what the pipe carries, as it is' \
        '--json'\t'[common] print the store document, even to a terminal' \
        '--quiet'\t'[common] print nothing' \
        '--dry-run'\t'[common] say what would be read and done, and touch nothing' \
        '--retries='\t'[common] more tries when the node fails' \
        '--wait='\t'[common] seconds between tries [default 1]' \
        '--timeout='\t'[common] end the node after so many seconds, with 124' \
        '--debug'\t'[common] show the traceback of a failure' \
        '--verbose'\t'[common] say where each value comes from and goes to' \
        '--describe'\t'[common] print the interface as JSON' \
        '--help'\t'[common] print this help' \
        '--version'\t'[common] print the version' \
        '-n'\t'[common] read nothing: this stage starts the pipe' \
        '-r'\t'[common] print only what the pipe carries, as it is' \
        '-j'\t'[common] print the store document, even to a terminal' \
        '-q'\t'[common] print nothing' \
        '-v'\t'[common] say where each value comes from and goes to' \
        '-h'\t'[common] print this help'
    set -g __pflow_values \
        '--from'\t'choice'\t'auto'\t'store'\t'text'\t'json' \
        '--id'\t'text' \
        '--map-in'\t'text' \
        '--map-out'\t'text' \
        '--retries'\t'text' \
        '--wait'\t'text' \
        '--timeout'\t'text'
    set -g __pflow_words
end

set -g __pflow_commands \
    'check'\t'[command] Check FLOW: a file, a saved flow, pipe syntax, or - for stdin. Nothing is run, imported or changed.' \
    'explain'\t'[command] Explain a flow without running it: its steps, where each value comes from and goes to, what it will touch.' \
    'export'\t'[command] Write FLOW as something else: a file, a saved flow, pipe syntax, or - for stdin.' \
    'find'\t'[command] Find the saved flows that are nearest to what the words say, best first.' \
    'import'\t'[command] Write the Flow that NAME is in FILE.py as a flow of pflow\'s, as JSON.' \
    'list'\t'[command] List the saved flows: the name of each, the inputs that it declares, what it is for.' \
    'mcp'\t'[command] Offer saved flows and nodes as tools to a client of the Model Context Protocol, on stdin and stdout.' \
    'models'\t'[command] Print the language models there are, by id and alias, with what each is; or get the small local one.' \
    'new-node'\t'[command] Write a node to start from.' \
    'nodes'\t'[command] List the nodes there are, and the saved flows; with NAME, what that node reads, writes, takes and does.' \
    'plan'\t'[command] Plan a flow from a sentence and print it, in JSON. Nothing is run.' \
    'remove'\t'[command] Remove saved flows, and the programs pflow-NAME that pflow save --command made for them.' \
    'run'\t'[command] Run a flow as a stage of a pipe: a .pflow.json file, a saved flow, or pipe syntax.' \
    'runs'\t'[command] Print the runs of the driver, newest first: id, when, how long, how it ended, the flow\'s name.' \
    'save'\t'[command] Save a flow under NAME: pflow NAME runs it then, and flow:NAME is a node for other flows.' \
    'setup'\t'[command] Put man pages and completions where man, bash, zsh and fish look: pflow\'s, and those of your own nodes.' \
    'show'\t'[command] Show a saved flow: as pipe syntax, its description, its inputs and outputs, what it touches, its file.' \
    'test-node'\t'[command] Test a node: a program pflow-NAME, a NAME.py, or the NAME of one.' \
    'trace'\t'[command] Print the trace of a run: each step, what it read from where, what it wrote, how long it took.'

set -g __pflow_tool_names \
    'catch' \
    'get' \
    'set'

set -g __pflow_tools \
    'catch'\t'[tool] Turn the error document of a stage that failed back into the store as it was before that stage.' \
    'get'\t'[tool] Print what the store on stdin holds at each PATH, raw: text and bytes as is, anything else as a line of JSON.' \
    'set'\t'[tool] Set members of the store on stdin, or of a new one, and write it.'
