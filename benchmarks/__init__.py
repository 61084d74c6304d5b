"""What the parts cost, measured side by side with what one would use instead. `python -m benchmarks` measures."""
