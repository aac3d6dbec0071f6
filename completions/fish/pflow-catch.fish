# What completes pflow-catch in fish; pflow.fish has the engine.
functions -q __pflow_complete; or source (status dirname)/pflow.fish
functions -q __pflow_complete; or return
functions -q '__pflow_table_pflow-catch'; or complete -c 'pflow-catch' -f -k -a '(__pflow_complete \'pflow-catch\')'

function '__pflow_table_pflow-catch'
    set -g __pflow_flags \
        '--set='\t'[options] after an error, set a member; KEY:=JSON sets a JSON value' \
        '--help'\t'[options] print this help' \
        '--version'\t'[options] print the version' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--set'\t'text'
    set -g __pflow_words
end
