"""Cost of model requests: the usage of a run, and the prices of models. Pure."""
