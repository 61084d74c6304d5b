"""What a fresh clone needs before the first call. Plans only; the controller carries them out."""
