"""The field: Segue beside the programs that people would use instead. `python -m bench.field --help`."""
