"""Records, states, policies and decisions: pure values and functions, without input or output."""
