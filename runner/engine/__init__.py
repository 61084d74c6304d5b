"""Where sandboxes come from. The only package that imports docker; it knows nothing of policy."""
