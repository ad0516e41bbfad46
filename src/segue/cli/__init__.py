"""The command line: one file a command group.

Commands work on the database itself, whether or not a server runs on it. What is heavy is imported inside
the command that needs it: `segue --help` and shell completion answer at once.
"""
