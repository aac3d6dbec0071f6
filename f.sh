X=mid.txt
pflow-template -n "hi" | pflow-write-file "$X" -r; cat mid.txt
