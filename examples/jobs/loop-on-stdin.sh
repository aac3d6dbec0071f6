#!/bin/sh
# A loop in a script that the shell reads from stdin: sh <loop-on-stdin.sh. With -n no stage reads the script.
for file in examples/notes/*; do
    pflow-read-file -n --verbatim --path="$file" | pflow-llm 'A title for this' -r
done >titles.txt
wc -l <titles.txt
