-- Whoever asks which turns are to stop looks here, and not among all that run: an index whose condition says less
-- than that of another one is taken for it.
DROP INDEX turns_to_stop;
CREATE INDEX turns_to_stop ON turns (id) WHERE stop_asked = 1 AND finished_at IS NULL;
