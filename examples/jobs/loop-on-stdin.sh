#!/bin/sh
# A loop in a script that comes in on stdin: sh <loop-on-stdin.sh. -n leaves the script to the shell.
for file in examples/notes/*; do
    pflow-read-file -n "$file" | pflow-llm 'A title for this' -r
done >titles.txt
wc -l <titles.txt
