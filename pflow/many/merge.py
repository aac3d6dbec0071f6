"""Shards: the share of a map that one process of several runs, with a ledger of its own."""

from pflow.errors import USAGE, PflowError


def parse_shard(text: str) -> tuple[int, int]:
    """Parse I/N, as in 1/4 to 4/4; return the shard from 0, and N. Raises PflowError (2)."""
    number, _, count = text.partition("/")
    if not (text.isascii() and number.isdecimal() and count.isdecimal() and int(count)):
        raise PflowError(f"cannot take --shard={text}: it is no share of a map", hint="--shard=1/4", exit=USAGE)
    if not 0 < int(number) <= int(count):
        hint = f"shards count from 1: --shard=$((I + 1))/{count} for a task I that counts from 0"
        raise PflowError(
            f"cannot take --shard={text}: it is not one of 1/{count} to {count}/{count}", hint=hint, exit=USAGE
        )
    return int(number) - 1, int(count)
