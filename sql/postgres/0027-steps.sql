-- Pieces of a run's work, with their results. `rev` is raised by every write. A row is written by
-- whoever holds the run, or by whoever began the step (`start_id`).
CREATE TABLE step (
  run_id TEXT COLLATE "C" NOT NULL,
  round BIGINT NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  rev BIGINT NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  policy TEXT COLLATE "C" NOT NULL,
  attempt BIGINT NOT NULL,
  fence BIGINT NOT NULL,
  start_id TEXT COLLATE "C" NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT,
  result TEXT COLLATE "C",
  error_code TEXT COLLATE "C",
  error_text TEXT COLLATE "C",
  code_version TEXT COLLATE "C",
  PRIMARY KEY (run_id, round, name),
  CONSTRAINT step_state_known CHECK (state IN ('started', 'done', 'failed', 'held', 'open')),
  CONSTRAINT step_policy_known CHECK (policy IN ('repeat', 'confirm', 'hold')),
  CONSTRAINT step_ended_has_time CHECK ((ended_at IS NOT NULL) = (state IN ('done', 'failed'))),
  CONSTRAINT step_done_has_result CHECK ((result IS NOT NULL) = (state = 'done'))
);

-- Runs that a person asked for are leased before others.
ALTER TABLE run ADD COLUMN asked BIGINT NOT NULL DEFAULT 0;
DROP INDEX run_available;
DROP INDEX run_available_of_type;
CREATE INDEX run_available ON run (asked DESC, available_at) WHERE available_at IS NOT NULL;
CREATE INDEX run_available_of_type ON run (type, asked DESC, available_at)
  WHERE available_at IS NOT NULL;
