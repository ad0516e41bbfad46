"""What we measure ourselves against: each file runs one peer and returns its rates."""
