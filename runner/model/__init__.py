"""Values: errors, decisions, paths, facts. Frozen, no IO, no clock."""
