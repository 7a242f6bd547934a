-- What was heard of a pull request's head: reconciling and comments that ask for work go by it.
-- `makes_head`: its event made this commit the head, rather than telling of one.
ALTER TABLE inbox ADD COLUMN head_sha TEXT;
ALTER TABLE inbox ADD COLUMN makes_head INTEGER NOT NULL DEFAULT 0;
CREATE INDEX inbox_head ON inbox (lane, event_at) WHERE head_sha IS NOT NULL;

-- When a pass of catch-up last looked at its pull requests; those waiting longest come first.
ALTER TABLE repository ADD COLUMN looked_at INTEGER;

-- Arrival decided between two heads, and GitHub has not said yet which one is the head. Stored with
-- the claim, so that neither a crash nor a failed look is the end of it.
CREATE TABLE head_check (
  subject_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX head_check_due ON head_check (due_at);
