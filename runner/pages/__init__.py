"""What a run looks like: its record folder in, a page out. Everything in a record is a stranger's text here."""
