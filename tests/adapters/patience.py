"""How long a stop may take here: the tests run beside others, and a duration is no verdict on them."""

BUSY_SECONDS = 30.0
