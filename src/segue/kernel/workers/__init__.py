"""Workers: the background loops of a process. They hand over by rows and bells, not by calling each other."""
