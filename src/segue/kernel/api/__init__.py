"""The kernel's public methods, one module for each thing that a caller works with."""
