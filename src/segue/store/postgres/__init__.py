"""The PostgreSQL driver: connections, group commit, and detection of lost COMMIT answers."""
