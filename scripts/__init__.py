"""What a developer runs, beside the targets of make."""
