# What completes pflow-get in fish; pflow.fish has the engine.
functions -q __pflow_complete; or source (status dirname)/pflow.fish
functions -q __pflow_complete; or return
functions -q '__pflow_table_pflow-get'; or complete -c 'pflow-get' -f -k -a '(__pflow_complete \'pflow-get\')'

function '__pflow_table_pflow-get'
    set -g __pflow_flags \
        '--exit-status'\t'[options] say nothing and exit with 1 where a value is missing or null' \
        '--null'\t'[options] end each value with a NUL' \
        '--from='\t'[options] what stdin holds' \
        '--help'\t'[options] print this help' \
        '--version'\t'[options] print the version' \
        '-e'\t'[options] say nothing and exit with 1 where a value is missing or null' \
        '-0'\t'[options] end each value with a NUL' \
        '-h'\t'[options] print this help'
    set -g __pflow_values \
        '--from'\t'choice'\t'auto'\t'store'\t'text'\t'json'
    set -g __pflow_words \
        'text…'
end
