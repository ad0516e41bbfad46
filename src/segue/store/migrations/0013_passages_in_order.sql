-- Search: a passage is found with the passages before and after it, and by when it was said.
CREATE INDEX passages_in_order ON memories (account, user_id, session_id, source_seq) WHERE kind = 'passage' AND forgotten_at IS NULL;
CREATE INDEX passages_by_time ON memories (account, user_id, created_at, id) WHERE kind = 'passage' AND forgotten_at IS NULL;
