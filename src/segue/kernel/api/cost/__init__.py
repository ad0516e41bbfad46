"""Cost: budgets and forecasts of sessions and jobs."""
