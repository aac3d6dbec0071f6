# Completes pflow and pflow-… in fish: pflow itself says what may stand at the cursor.
complete -c pflow -c 'pflow-*' -f -k -a '(PFLOW_LINE=(commandline -cj | string collect) command pflow __complete fish (commandline -cp | string collect) 2>/dev/null)'

# fish 4 takes no pattern of commands: there each program on PATH is named, a new one at the next prompt.
function __pflow_name_programs --on-event fish_prompt
    for program in (string replace -r '.*/' '' $PATH/pflow-*)
        contains -- $program $__pflow_programs; and continue
        set -ga __pflow_programs $program
        complete -c $program -f -k -a '(PFLOW_LINE=(commandline -cj | string collect) command pflow __complete fish (commandline -cp | string collect) 2>/dev/null)'
    end
end
if test (string split . $version)[1] -ge 4
    __pflow_name_programs
else
    functions -e __pflow_name_programs
end
