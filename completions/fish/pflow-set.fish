# What completes pflow-set in fish; pflow.fish has the engine.
functions -q __pflow_complete; or source (status dirname)/pflow.fish
functions -q __pflow_complete; or return
functions -q '__pflow_table_pflow-set'; or complete -c 'pflow-set' -f -k -a '(__pflow_complete \'pflow-set\')'

function '__pflow_table_pflow-set'
    set -g __pflow_flags \
        '--no-stdin'\t'[options] read nothing: start a new store' \
        '--allow-empty'\t'[options] take an empty pipe as an empty text' \
        '--from='\t'[options] what stdin holds' \
        '--help'\t'[options] print this help' \
        '--version'\t'[options] print the version' \
        '-n'\t'[options] read nothing: start a new store' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--from'\t'choice'\t'auto'\t'store'\t'text'\t'json'
    set -g __pflow_words \
        'text…'
end
