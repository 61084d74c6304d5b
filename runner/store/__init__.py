"""What a server remembers over a restart: tokens and runs, in SQLite or PostgreSQL. Facts only; rules are elsewhere."""
