"""Wires: foreign protocols over the kernel."""
