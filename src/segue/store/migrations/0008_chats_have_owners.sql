-- A chat on a network belongs to a user of its own, named by its key. Before this, every chat belonged to the user
-- `default`, and what was learned in one chat was told in all of them.

-- The user that the private chats of a sender are bound to; NULL: each chat is a user of its own.
ALTER TABLE guests ADD COLUMN user_id TEXT;

-- An operator finds a session by its key in the account, and lists those of all users.
DROP INDEX directory_by_key;
CREATE INDEX directory_newest_in_account ON directory (account, heard_at, session_id);
CREATE INDEX tasks_by_account ON tasks (account, id);
-- The last of them, as in 0007. The key stands first: it serves the look-up of an operator, who names no user, too.
CREATE UNIQUE INDEX directory_by_key ON directory (key, account, user_id);

-- The sessions that change their owner. A session of that key which the user has already stays the only one.
CREATE TABLE moved (
    session_id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL
);

INSERT INTO moved (session_id, user_id)
SELECT session_id, key
FROM directory
WHERE user_id = 'default' AND (SUBSTR(key, 1, 9) = 'telegram:' OR SUBSTR(key, 1, 7) = 'matrix:')
  AND NOT EXISTS (
      SELECT 1
      FROM directory AS there
      WHERE there.account = directory.account AND there.key = directory.key AND there.user_id = directory.key
  );

-- A legacy job runs in a session of its own and speaks in a chat: it belongs to the owner of that chat.
INSERT INTO moved (session_id, user_id)
SELECT jobs.session_id, MIN(/*pg CAST(jobs.action AS JSON) ->> 'to' *//*lite json_extract(jobs.action, '$.to') */)
FROM jobs
JOIN directory ON directory.session_id = jobs.session_id
WHERE jobs.kind = 'legacy' AND directory.user_id = 'default' AND SUBSTR(directory.key, 1, 5) = 'cron:'
GROUP BY jobs.session_id
HAVING COUNT(DISTINCT /*pg CAST(jobs.action AS JSON) ->> 'to' *//*lite json_extract(jobs.action, '$.to') */) = 1
   AND (SUBSTR(MIN(/*pg CAST(jobs.action AS JSON) ->> 'to' *//*lite json_extract(jobs.action, '$.to') */), 1, 9) = 'telegram:' OR SUBSTR(MIN(/*pg CAST(jobs.action AS JSON) ->> 'to' *//*lite json_extract(jobs.action, '$.to') */), 1, 7) = 'matrix:');

UPDATE sessions
SET user_id = (SELECT moved.user_id FROM moved WHERE moved.session_id = sessions.id)
WHERE id IN (SELECT session_id FROM moved);

UPDATE directory
SET user_id = (SELECT moved.user_id FROM moved WHERE moved.session_id = directory.session_id)
WHERE session_id IN (SELECT session_id FROM moved);

UPDATE tasks
SET user_id = (SELECT moved.user_id FROM moved WHERE moved.session_id = tasks.session_id)
WHERE session_id IN (SELECT session_id FROM moved);

-- What was learned in such a session goes with it. What came from anywhere else stays with the operator.
UPDATE memories
SET user_id = (SELECT moved.user_id FROM moved WHERE moved.session_id = memories.session_id)
WHERE user_id = 'default' AND session_id IN (SELECT session_id FROM moved)
  AND NOT EXISTS (
      SELECT 1
      FROM memories AS there
      JOIN moved ON moved.session_id = memories.session_id
      WHERE there.account = memories.account AND there.user_id = moved.user_id AND there.topic = memories.topic
        AND there.forgotten_at IS NULL
  );

UPDATE memory_terms
SET user_id = (SELECT memories.user_id FROM memories WHERE memories.id = memory_terms.memory_id)
WHERE memory_id IN (SELECT id FROM memories WHERE session_id IN (SELECT session_id FROM moved));

-- What an undo would bring back: the user's own words only, and under the new name.
UPDATE memory_changes
SET before = NULL
WHERE session_id IN (SELECT session_id FROM moved)
  AND COALESCE(/*pg CAST(before AS JSON) ->> 'session_id' *//*lite json_extract(before, '$.session_id') */, '') <> session_id;

UPDATE memory_changes
SET before = (SELECT /*pg CAST(CAST(memory_changes.before AS JSONB) || jsonb_build_object('user_id', moved.user_id) AS TEXT) *//*lite json_set(memory_changes.before, '$.user_id', moved.user_id) */ FROM moved WHERE moved.session_id = memory_changes.session_id),
    after = (SELECT /*pg CAST(CAST(memory_changes.after AS JSONB) || jsonb_build_object('user_id', moved.user_id) AS TEXT) *//*lite json_set(memory_changes.after, '$.user_id', moved.user_id) */ FROM moved WHERE moved.session_id = memory_changes.session_id)
WHERE session_id IN (SELECT session_id FROM moved);

-- A message that arrived before this is known when it arrives again.
UPDATE requests
SET user_id = (
        SELECT moved.user_id
        FROM turns
        JOIN moved ON moved.session_id = turns.via_id
        WHERE turns.id = /*pg CAST(requests.result AS JSON) ->> 'turn_id' *//*lite json_extract(requests.result, '$.turn_id') */
    )
WHERE user_id = 'default' AND (SUBSTR(name, 1, 9) = 'telegram:' OR SUBSTR(name, 1, 7) = 'matrix:')
  AND EXISTS (
      SELECT 1
      FROM turns
      JOIN moved ON moved.session_id = turns.via_id
      WHERE turns.id = /*pg CAST(requests.result AS JSON) ->> 'turn_id' *//*lite json_extract(requests.result, '$.turn_id') */
  );

-- Unified mode: the common session stays with the operator, and neither answers nor speaks in these chats any more.
-- What waits there on their behalf waits in the chats themselves.
UPDATE sessions
SET last_via_id = NULL
WHERE last_via_id IN (SELECT session_id FROM moved);

UPDATE turns
SET session_id = via_id, joins = 0
WHERE state = 'queued' AND attempt = 0 AND via_id <> session_id AND via_id IN (SELECT session_id FROM moved);

UPDATE sessions
SET (ready_at, user_waits) = (
        SELECT CASE WHEN sessions.holder IS NULL THEN MIN(turns.not_before) END,
               COALESCE(MAX(CASE WHEN turns.run_id IS NULL THEN 1 ELSE 0 END), 0)
        FROM turns
        WHERE turns.session_id = sessions.id AND turns.state = 'queued'
    )
WHERE key = 'unified:default' OR id IN (SELECT session_id FROM moved);

DROP TABLE moved;
