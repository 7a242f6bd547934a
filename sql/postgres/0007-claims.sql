-- Webhooks that were given up are shown until somebody has them decided again.
CREATE INDEX inbox_failed ON inbox (arrival) WHERE state = 'failed';

-- An event whose like was known, but others of its pull request came in between: GitHub is asked how
-- the pull request is before anything is done about it.
ALTER TABLE inbox ADD COLUMN needs_look BIGINT NOT NULL DEFAULT 0;

-- How the run of the current key last ended, kept when the run itself is purged. Where a run was
-- purged before this was kept, only a success is known (it is the last finished run); whatever else
-- it was counts as not done.
ALTER TABLE subject ADD COLUMN current_ended TEXT COLLATE "C";
UPDATE subject SET current_ended = coalesce(
  (SELECT run.state FROM run WHERE run.id = current_run_id AND run.finished_at IS NOT NULL),
  CASE WHEN finished_run_id = current_run_id THEN 'succeeded' END);

-- The repository of a run by our own id, which no rename changes; '' where it has none. A pull
-- request's run is unique by subject and pair alone: its key shows a name, and names are given away.
ALTER TABLE run ADD COLUMN scope TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE run SET scope = coalesce(
  (SELECT subject.scope FROM subject WHERE subject.id = run.subject_id), '');
DROP INDEX run_key;
CREATE INDEX run_key ON run (key, type);
CREATE UNIQUE INDEX run_job_key ON run (key, type, scope) WHERE pr IS NULL;
DROP INDEX run_repo;
CREATE INDEX run_scope ON run (scope, id);
CREATE INDEX repository_name_of ON repository_name (repository_id);
