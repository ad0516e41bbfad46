"""The peers that Segue is compared with: each file runs one and returns its rates."""
