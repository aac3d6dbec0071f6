# What completes pflow-llm in fish; pflow.fish has the engine.
functions -q __pflow_complete; or source (status dirname)/pflow.fish
functions -q __pflow_complete; or return
functions -q '__pflow_table_pflow-llm'; or complete -c 'pflow-llm' -f -k -a '(__pflow_complete \'pflow-llm\')'

function '__pflow_table_pflow-llm'
    set -g __pflow_flags \
        '--prompt='\t'[data] what to ask' \
        '--text='\t'[data] what it is about: text after the prompt, bytes as an attachment [from the pipe]' \
        '--model='\t'[params] which model: an id, an alias or a GGUF file [or PFLOW_MODEL]' \
        '--system='\t'[params] the system prompt' \
        '--temperature='\t'[params] how freely the model chooses its words' \
        '--max-tokens='\t'[params] how long the answer may get' \
        '--schema='\t'[params] a JSON schema for the answer, inline or a file' \
        '--option='\t'[params] NAME=VALUE, any other option of the model [may be repeated, or a JSON list]' \
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
        '--prompt'\t'text' \
        '--text'\t'text' \
        '--model'\t'model' \
        '--system'\t'text' \
        '--temperature'\t'text' \
        '--max-tokens'\t'text' \
        '--schema'\t'text' \
        '--option'\t'text' \
        '--from'\t'choice'\t'auto'\t'store'\t'text'\t'json' \
        '--id'\t'text' \
        '--map-in'\t'text' \
        '--map-out'\t'text' \
        '--retries'\t'text' \
        '--wait'\t'text' \
        '--timeout'\t'text'
    set -g __pflow_words
end
