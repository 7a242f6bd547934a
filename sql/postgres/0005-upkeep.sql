-- What an hourly purge looks for, so that it reads nothing it leaves alone.
CREATE INDEX inbox_done ON inbox (received_at) WHERE due_at IS NULL;
CREATE INDEX run_ended ON run (state, finished_at) WHERE finished_at IS NOT NULL;
DROP INDEX run_superseded;

-- When something in a repository was last claimed, to a few minutes: catch-up looks at those in use,
-- and must not read every subject to find them.
ALTER TABLE repository ADD COLUMN used_at BIGINT;
UPDATE repository SET used_at = (SELECT max(touched_at) FROM subject WHERE scope = repository.id);
CREATE INDEX repository_used ON repository (used_at) WHERE github_id IS NOT NULL;
