-- A turn may replace an earlier one: a message that was edited, or an answer that is tried again (decision 0058).
ALTER TABLE turns ADD COLUMN replaces TEXT;

-- The turns that were replaced. The log is not rewritten, and turns are pruned: readers of the log look here for
-- what no longer counts. The table is small, so that a look for each message costs little.
CREATE TABLE replaced_turns (
    turn_id TEXT PRIMARY KEY,
    replaced_by TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE INDEX replaced_turns_of_session ON replaced_turns (session_id);
