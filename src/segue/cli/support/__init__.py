"""Shared code of the commands: settings, output, options, signals, opening a kernel."""
