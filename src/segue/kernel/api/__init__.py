"""The public verbs of the kernel, by what a caller is doing."""
