"""Runs for many callers at once: whose they are, what each may open, how many, and what a restart makes of them."""
