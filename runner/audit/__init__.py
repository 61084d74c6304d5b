"""The hash-chained record of a run, written on the host before each effect."""
