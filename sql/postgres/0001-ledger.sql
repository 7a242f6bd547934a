-- The ledger: what was claimed, by whom, in which order, and what became of it.
--
-- Times are milliseconds since 1970 by the store's clock; flags are 0 and 1; JSON is text and never
-- looked into. Text is COLLATE "C", so that ids
-- compare bytewise as on SQLite.

CREATE TABLE store_state (
  key TEXT COLLATE "C" PRIMARY KEY,
  value TEXT COLLATE "C" NOT NULL
);

CREATE TABLE repository (
  id TEXT COLLATE "C" PRIMARY KEY,
  github_id BIGINT UNIQUE,
  name TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);

-- Every name a repository was ever seen under, in lower case.
CREATE TABLE repository_name (
  name TEXT COLLATE "C" PRIMARY KEY,
  repository_id TEXT COLLATE "C" NOT NULL
);

-- Locked first by every claim. Outlives its runs by far: it knows the current key and its order.
-- Half of each page is left free, so that a row's next version finds room beside it and no index
-- has to be told.
CREATE TABLE subject (
  id TEXT COLLATE "C" PRIMARY KEY,
  type TEXT COLLATE "C" NOT NULL,
  scope TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  current_run_id TEXT COLLATE "C",
  current_pair TEXT COLLATE "C",
  head_sha TEXT COLLATE "C",
  head_before TEXT COLLATE "C",
  head_at BIGINT,
  floor_at BIGINT,
  finished_run_id TEXT COLLATE "C",
  finished_head_sha TEXT COLLATE "C",
  finished_verdict TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  touched_at BIGINT NOT NULL,
  CONSTRAINT subject_order_below_floor CHECK (head_at IS NULL OR head_at <= floor_at)
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX subject_name ON subject (scope, name, type);

-- Webhooks that were already decided on for a subject: two deliveries can be one event.
CREATE TABLE subject_event (
  subject_id TEXT COLLATE "C" NOT NULL,
  webhook_id TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (subject_id, webhook_id)
);
CREATE INDEX subject_event_at ON subject_event (at);

CREATE TABLE run (
  id TEXT COLLATE "C" PRIMARY KEY,
  rev BIGINT NOT NULL,
  type TEXT COLLATE "C" NOT NULL,
  subject_id TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  pair TEXT COLLATE "C" NOT NULL,
  repo TEXT COLLATE "C",
  pr BIGINT,
  base_sha TEXT COLLATE "C",
  head_sha TEXT COLLATE "C",
  state TEXT COLLATE "C" NOT NULL,
  on_newer TEXT COLLATE "C" NOT NULL,
  attempt BIGINT NOT NULL,
  round BIGINT NOT NULL,
  fence BIGINT NOT NULL,
  order_at BIGINT,
  last_event_at BIGINT,
  rerun_wanted BIGINT NOT NULL,
  lease_hash TEXT COLLATE "C",
  past_lease_hashes TEXT COLLATE "C" NOT NULL,
  completed_lease_hash TEXT COLLATE "C",
  lease_ms BIGINT NOT NULL,
  lease_expires_at BIGINT,
  holder TEXT COLLATE "C",
  worker TEXT COLLATE "C",
  available_at BIGINT,
  due_at BIGINT,
  attempts_max BIGINT NOT NULL,
  timeout_ms BIGINT NOT NULL,
  pending_timeout_ms BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  started_at BIGINT,
  finished_at BIGINT,
  deadline_at BIGINT,
  superseded_by TEXT COLLATE "C",
  outcome TEXT COLLATE "C",
  verdict TEXT COLLATE "C",
  summary TEXT COLLATE "C",
  description TEXT COLLATE "C",
  target_url TEXT COLLATE "C",
  input TEXT COLLATE "C",
  result TEXT COLLATE "C",
  error_code TEXT COLLATE "C",
  error_text TEXT COLLATE "C",
  webhook_id TEXT COLLATE "C",
  trigger_event TEXT COLLATE "C",
  trigger_action TEXT COLLATE "C",
  trigger_sender TEXT COLLATE "C",
  previous_run_id TEXT COLLATE "C",
  previous_head_sha TEXT COLLATE "C",
  previous_verdict TEXT COLLATE "C",
  CONSTRAINT run_state_known CHECK (state IN ('pending', 'running', 'waiting', 'succeeded',
    'failed', 'cancelled', 'skipped', 'superseded')),
  CONSTRAINT run_ended_has_time CHECK
    ((finished_at IS NULL) = (state IN ('pending', 'running', 'waiting'))),
  CONSTRAINT run_running_is_held CHECK
    (state <> 'running' OR (lease_hash IS NOT NULL AND lease_expires_at IS NOT NULL)),
  CONSTRAINT run_counts_from_one CHECK (attempt >= 1 AND round >= 1 AND fence >= 1)
);
CREATE UNIQUE INDEX run_key ON run (key, type);
CREATE UNIQUE INDEX run_pair ON run (subject_id, pair);
-- Rule 1: at most one active run per type and subject, where the type supersedes.
CREATE UNIQUE INDEX run_one_active ON run (subject_id)
  WHERE on_newer = 'supersede' AND state IN ('pending', 'running', 'waiting');
-- And whatever the type does, at most one is ahead: worked on, or free to be leased.
CREATE UNIQUE INDEX run_one_ahead ON run (subject_id)
  WHERE (state IN ('running', 'waiting') OR available_at IS NOT NULL);
CREATE INDEX run_active ON run (subject_id, fence)
  WHERE state IN ('pending', 'running', 'waiting');
CREATE INDEX run_due ON run (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX run_available ON run (available_at) WHERE available_at IS NOT NULL;
CREATE INDEX run_available_of_type ON run (type, available_at) WHERE available_at IS NOT NULL;
CREATE INDEX run_finished ON run (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX run_superseded ON run (finished_at) WHERE state = 'superseded';
CREATE INDEX run_state ON run (state, id);
CREATE INDEX run_repo ON run (repo, id);
CREATE INDEX run_head_sha ON run (head_sha);

-- Append-only. The id of a claim's row is the run's fence, so it must only grow.
CREATE TABLE audit (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  at BIGINT NOT NULL,
  type TEXT COLLATE "C" NOT NULL,
  actor TEXT COLLATE "C" NOT NULL,
  run_id TEXT COLLATE "C",
  data TEXT COLLATE "C" NOT NULL
);
CREATE INDEX audit_run ON audit (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX audit_type ON audit (type, id);
CREATE INDEX audit_at ON audit (at);

CREATE TABLE token (
  id TEXT COLLATE "C" PRIMARY KEY,
  scope TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C",
  user_id BIGINT,
  secret_hash TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);

-- Answers kept for a day under a caller's Idempotency-Key, sealed with what only that caller knows.
CREATE TABLE idempotency (
  key_hash TEXT COLLATE "C" PRIMARY KEY,
  body_hash TEXT COLLATE "C" NOT NULL,
  sealed TEXT COLLATE "C",
  created_at BIGINT NOT NULL
);
CREATE INDEX idempotency_at ON idempotency (created_at);
