-- Whether a turn was admitted behind another one: clients were told of the queue, and are told when it is empty.
ALTER TABLE turns ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;
