"""Segue and its peers on one machine, in one run, in one table: `python -m bench --help`."""
