"""`python -m pflow` is the command pflow."""

from pflow.commands.main import main

if __name__ == "__main__":
    main()
