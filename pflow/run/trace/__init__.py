"""The trace of a run or of a piped document: what each step read, wrote and took, and its forms, one file each."""
