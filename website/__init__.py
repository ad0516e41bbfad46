"""The documentation site: its pages, its settings and its check."""
