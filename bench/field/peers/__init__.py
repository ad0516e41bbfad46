"""The peers: one program each, run by the interpreter of an environment with the packages that its head
names.
"""
