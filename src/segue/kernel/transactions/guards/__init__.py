"""Guards: what may keep a run from starting: budgets, conditions, and the limit of all processes."""
