"""The tool contract: one module per tool, with its description, schema and act side by side."""
