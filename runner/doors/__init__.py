"""Thin translations of what a caller says: no policy, no engine call, no business rule."""
