-- Pieces of a run's work, with their results. `rev` is raised by every write. A row is written by
-- whoever holds the run, or by whoever began the step (`start_id`).
CREATE TABLE step (
  run_id TEXT NOT NULL,
  round INTEGER NOT NULL,
  name TEXT NOT NULL,
  rev INTEGER NOT NULL,
  state TEXT NOT NULL,
  policy TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  start_id TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  result TEXT,
  error_code TEXT,
  error_text TEXT,
  code_version TEXT,
  PRIMARY KEY (run_id, round, name),
  CONSTRAINT step_state_known CHECK (state IN ('started', 'done', 'failed', 'held', 'open')),
  CONSTRAINT step_policy_known CHECK (policy IN ('repeat', 'confirm', 'hold')),
  CONSTRAINT step_ended_has_time CHECK ((ended_at IS NOT NULL) = (state IN ('done', 'failed'))),
  CONSTRAINT step_done_has_result CHECK ((result IS NOT NULL) = (state = 'done'))
) STRICT;

-- Runs that a person asked for are leased before others.
ALTER TABLE run ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;
DROP INDEX run_available;
DROP INDEX run_available_of_type;
CREATE INDEX run_available ON run (asked DESC, available_at) WHERE available_at IS NOT NULL;
CREATE INDEX run_available_of_type ON run (type, asked DESC, available_at)
  WHERE available_at IS NOT NULL;
