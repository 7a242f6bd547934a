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
