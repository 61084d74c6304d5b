"""The life of a run and the one pipeline that every tool call takes."""
