"""Runs that outlive the command that opened them: one process holds each, and answers on a socket of its user's."""
