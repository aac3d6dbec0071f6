# What completes pflow-shell in fish; pflow.fish has the engine.
functions -q __pflow_complete; or source (status dirname)/pflow.fish
functions -q __pflow_complete; or return
functions -q '__pflow_table_pflow-shell'; or complete -c 'pflow-shell' -f -k -a '(__pflow_complete \'pflow-shell\')'

function '__pflow_table_pflow-shell'
    set -g __pflow_flags \
        '--command='\t'[data] the command [required]' \
        '--args='\t'[data] its arguments, $1 and on [may be repeated, or a JSON list]' \
        '--input='\t'[data] its stdin: text and bytes exactly, anything else as a line of JSON [from the pipe]' \
        '--check'\t'[params] fail, with its exit code, when the command does [default true]' \
        '--no-check'\t'[params] not: fail, with its exit code, when the command does [default true]' \
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
        '--command'\t'text' \
        '--args'\t'text' \
        '--input'\t'text' \
        '--check='\t'choice'\t'true'\t'false' \
        '--from'\t'choice'\t'auto'\t'store'\t'text'\t'json' \
        '--id'\t'text' \
        '--map-in'\t'text' \
        '--map-out'\t'text' \
        '--retries'\t'text' \
        '--wait'\t'text' \
        '--timeout'\t'text'
    set -g __pflow_words
end
