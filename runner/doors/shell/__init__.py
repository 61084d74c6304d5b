"""A person at a prompt: the tools of a run in few words, their answers readable."""
