"""The demo: a pleasant repository that gets its bug mended, and a hostile twin of it that gets nowhere."""
