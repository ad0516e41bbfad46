-- Budgets: what scheduled runs reserve when their slot is taken, and settle when they end.
--
-- A row without a run is a raise for one period: its amounts are negative, and it belongs to one scope only.
CREATE TABLE reservations (
    run_id TEXT PRIMARY KEY,
    job_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    account TEXT NOT NULL,
    -- The day on which the slot was taken, in the zone of the session.
    period TEXT NOT NULL,
    usd_micros BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    runs BIGINT NOT NULL DEFAULT 1,
    settled BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX reservations_of_job ON reservations (job_id, period);
CREATE INDEX reservations_of_session ON reservations (session_id, period);
CREATE INDEX reservations_of_account ON reservations (account, period);
-- No index names a column that a settlement changes.
CREATE INDEX reservations_old ON reservations (period);

-- Apart from the sessions, so that a session without a budget costs nothing more.
CREATE TABLE session_budgets (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    budget TEXT NOT NULL
);

-- What the run of a turn has reserved; null for a turn that draws on no budget.
ALTER TABLE turns ADD COLUMN reserved TEXT;
