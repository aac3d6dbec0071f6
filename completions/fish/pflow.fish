# Completes pflow and pflow-… in fish: pflow itself says what may stand at the cursor.
complete -c pflow -c 'pflow-*' -f -k -a '(pflow __complete fish (commandline -cp | string collect) 2>/dev/null)'
