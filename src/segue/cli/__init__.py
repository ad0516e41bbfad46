"""The command line: one module for each command group.

Commands work on the database itself, whether or not a server is running. A command is imported when it is
called, and heavy modules inside the commands that need them, so that a short command is fast.
"""
