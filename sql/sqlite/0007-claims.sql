-- Webhooks that were given up are shown until somebody has them decided again.
CREATE INDEX inbox_failed ON inbox (arrival) WHERE state = 'failed';

-- An event whose like was known, but others of its pull request came in between: GitHub is asked how
-- the pull request is before anything is done about it.
ALTER TABLE inbox ADD COLUMN needs_look INTEGER NOT NULL DEFAULT 0;
