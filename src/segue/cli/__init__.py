"""The command line: one module for each command group.

Commands work on the database itself, whether or not a server is running. Heavy modules are imported inside
the commands that need them, so that `segue --help` and shell completion are fast.
"""
