"""The shapes of the HTTP API: request bodies, answers and live events, and how records become them."""
