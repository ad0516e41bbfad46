-- Lanes whose first turn waits for a model that runs as many turns as it may (decision 0073).
--
-- Apart from the sessions, so that a database without such limits pays nothing. The lane itself is ready again after
-- a minute in any case: a process that knows no limits needs no row of this table.
CREATE TABLE model_waits (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    user_waits BIGINT NOT NULL,
    account TEXT NOT NULL,
    since BIGINT NOT NULL
);

CREATE INDEX model_waits_in_turn ON model_waits (model, user_waits, account, since);
