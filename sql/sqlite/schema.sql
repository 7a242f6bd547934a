-- What the migrations beside this file lead to. Written by `npm run schema`;
-- a test fails when the two differ. Nothing reads it but people.

CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  actor TEXT NOT NULL,
  run_id TEXT,
  data TEXT NOT NULL
, inbox_id TEXT, delivery_id TEXT, refused TEXT, cause_id INTEGER) STRICT;

CREATE INDEX audit_at ON audit (at);

CREATE INDEX audit_delivery ON audit (delivery_id, id) WHERE delivery_id IS NOT NULL;

CREATE INDEX audit_inbox ON audit (inbox_id, id) WHERE inbox_id IS NOT NULL;

CREATE INDEX audit_refused ON audit (refused, id) WHERE refused IS NOT NULL;

CREATE INDEX audit_run ON audit (run_id, id) WHERE run_id IS NOT NULL;

CREATE INDEX audit_type ON audit (type, id);

CREATE TABLE author (
  kind TEXT NOT NULL,
  github_id INTEGER NOT NULL,
  first_seen_at INTEGER NOT NULL,
  PRIMARY KEY (kind, github_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE budget (
  identity TEXT PRIMARY KEY,
  rev INTEGER NOT NULL,
  last_write_at INTEGER,
  seconds TEXT NOT NULL,
  minutes TEXT NOT NULL,
  blocked_until INTEGER,
  blocked_reason TEXT,
  updated_at INTEGER NOT NULL
, blocked_since INTEGER, writes_from INTEGER, progress_from INTEGER, further_from INTEGER) STRICT;

CREATE TABLE "delivery" (
  id TEXT PRIMARY KEY,
  rev INTEGER NOT NULL,
  kind TEXT NOT NULL,
  channel TEXT NOT NULL,
  target TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  run_id TEXT,
  subject_id TEXT,
  repository_id TEXT,
  thread INTEGER,
  sha TEXT,
  address TEXT,
  marker_key TEXT NOT NULL,
  round INTEGER NOT NULL,
  version_fence INTEGER NOT NULL,
  version_seq INTEGER NOT NULL,
  content TEXT NOT NULL,
  final INTEGER NOT NULL,
  announces INTEGER NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  wait TEXT,
  priority INTEGER NOT NULL,
  due_at INTEGER,
  lease_id TEXT,
  leased_until INTEGER,
  attempt_id TEXT,
  tries INTEGER NOT NULL,
  deadline_at INTEGER NOT NULL,
  announced_fence INTEGER,
  sent_fence INTEGER,
  sent_seq INTEGER,
  sent_hash TEXT,
  sent_at INTEGER,
  shown_since INTEGER,
  provider_id TEXT,
  provider_url TEXT,
  coalesced INTEGER NOT NULL,
  protocol TEXT NOT NULL,
  error_code TEXT,
  error_text TEXT,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  closed_at INTEGER,
  queue TEXT,
  waits_since INTEGER,
  turn INTEGER,
  line INTEGER, cause_id INTEGER,
  CONSTRAINT delivery_kind_known CHECK (kind IN ('state', 'message')),
  CONSTRAINT delivery_status_known CHECK (status IN ('PENDING', 'SENT', 'FAILED', 'SKIPPED')),
  CONSTRAINT delivery_closed_has_time CHECK ((closed_at IS NULL) = (status = 'PENDING')),
  CONSTRAINT delivery_open_waits CHECK ((wait IS NOT NULL) = (status = 'PENDING')),
  CONSTRAINT delivery_refusal_has_reason CHECK
    (status NOT IN ('FAILED', 'SKIPPED') OR reason IS NOT NULL)
) STRICT;

CREATE INDEX delivery_announces ON delivery (run_id) WHERE announces = 1;

CREATE INDEX delivery_channel ON delivery (channel, id);

CREATE INDEX delivery_due ON delivery (priority, due_at)
  WHERE due_at IS NOT NULL AND queue IS NULL;

CREATE INDEX delivery_leased ON delivery (leased_until) WHERE leased_until IS NOT NULL;

CREATE INDEX delivery_line ON delivery (run_id, line) WHERE line IS NOT NULL;

CREATE INDEX delivery_message ON delivery (run_id)
  WHERE kind = 'message' AND status = 'PENDING';

CREATE INDEX delivery_named ON delivery (run_id, name, round);

CREATE INDEX delivery_open ON delivery (status, changed_at) WHERE status = 'PENDING';

CREATE INDEX delivery_queue ON delivery (queue, priority, turn, waits_since)
  WHERE queue IS NOT NULL;

CREATE INDEX delivery_repository ON delivery (repository_id);

CREATE INDEX delivery_run ON delivery (run_id, id);

CREATE INDEX delivery_status ON delivery (status, id);

CREATE INDEX delivery_subject ON delivery (subject_id);

CREATE INDEX delivery_turn ON delivery (queue, run_id, turn) WHERE turn IS NOT NULL;

CREATE TABLE delivery_attempt (
  id TEXT PRIMARY KEY,
  delivery_id TEXT NOT NULL,
  action TEXT NOT NULL,
  version_fence INTEGER NOT NULL,
  version_seq INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  outcome TEXT,
  late INTEGER NOT NULL,
  error_code TEXT,
  error_text TEXT,
  http_status INTEGER,
  request_id TEXT,
  github_request_id TEXT,
  provider_id TEXT,
  CONSTRAINT attempt_outcome_known CHECK (outcome IS NULL OR outcome IN
    ('sent', 'retry', 'permanent', 'rate_limited', 'in_doubt', 'not_sent')),
  CONSTRAINT attempt_ended_has_outcome CHECK ((ended_at IS NULL) = (outcome IS NULL))
) STRICT;

CREATE INDEX delivery_attempt_of ON delivery_attempt (delivery_id, id);

CREATE TABLE head_check (
  subject_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  created_at INTEGER NOT NULL
, fence INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX head_check_asked ON head_check (created_at);

CREATE INDEX head_check_due ON head_check (due_at);

CREATE TABLE idempotency (
  key_hash TEXT PRIMARY KEY,
  body_hash TEXT NOT NULL,
  sealed TEXT,
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX idempotency_at ON idempotency (created_at);

CREATE TABLE inbox (
  arrival INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  webhook_id TEXT NOT NULL UNIQUE,
  event_key TEXT,
  event TEXT NOT NULL,
  action TEXT,
  repo TEXT,
  repo_id INTEGER,
  number INTEGER,
  sender TEXT,
  lane TEXT NOT NULL,
  event_at INTEGER,
  pr_state TEXT,
  state TEXT NOT NULL,
  decision TEXT NOT NULL,
  reason TEXT,
  outcomes TEXT NOT NULL,
  duplicate_of TEXT,
  received_at INTEGER NOT NULL,
  processed_at INTEGER,
  due_at INTEGER,
  tries INTEGER NOT NULL,
  last_error TEXT, head_sha TEXT, makes_head INTEGER NOT NULL DEFAULT 0, needs_look INTEGER NOT NULL DEFAULT 0, party TEXT NOT NULL DEFAULT '',
  CONSTRAINT inbox_state_known CHECK (state IN ('waiting', 'processed', 'failed')),
  CONSTRAINT inbox_decision_known CHECK (decision IN ('accepted', 'ignored', 'duplicate')),
  CONSTRAINT inbox_waiting_is_due CHECK ((due_at IS NOT NULL) = (state = 'waiting')),
  CONSTRAINT inbox_processed_has_time CHECK ((processed_at IS NULL) = (state = 'waiting'))
) STRICT;

CREATE INDEX inbox_arrivals ON inbox (lane, arrival);

CREATE INDEX inbox_done ON inbox (received_at) WHERE due_at IS NULL;

CREATE INDEX inbox_due ON inbox (party, due_at) WHERE due_at IS NOT NULL;

CREATE INDEX inbox_due_tried ON inbox (party, due_at) WHERE due_at IS NOT NULL AND tries > 0;

CREATE INDEX inbox_due_untried ON inbox (party, lane, arrival)
  WHERE due_at IS NOT NULL AND tries = 0;

CREATE UNIQUE INDEX inbox_event_key ON inbox (event_key) WHERE event_key IS NOT NULL;

CREATE INDEX inbox_failed ON inbox (arrival) WHERE state = 'failed';

CREATE INDEX inbox_head ON inbox (lane, event_at) WHERE head_sha IS NOT NULL;

CREATE INDEX inbox_lane ON inbox (lane, event_at);

CREATE INDEX inbox_thread ON inbox (repo, number, arrival) WHERE number IS NOT NULL;

CREATE INDEX inbox_waiting ON inbox (lane, arrival) WHERE due_at IS NOT NULL;

CREATE TABLE inbox_body (
  arrival INTEGER PRIMARY KEY,
  headers TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;

CREATE TABLE marker_key (
  id TEXT PRIMARY KEY,
  secret TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE migration (
      version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;

CREATE TABLE past_round (
  subject_id TEXT NOT NULL,
  pair TEXT NOT NULL,
  round INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (subject_id, pair)
) STRICT, WITHOUT ROWID;

CREATE INDEX past_round_at ON past_round (at);

CREATE TABLE repository (
  id TEXT PRIMARY KEY,
  github_id INTEGER UNIQUE,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
, used_at INTEGER, looked_at INTEGER, merged_into TEXT, named_at INTEGER) STRICT;

CREATE INDEX repository_merged ON repository (merged_into) WHERE merged_into IS NOT NULL;

CREATE INDEX repository_used ON repository (used_at) WHERE github_id IS NOT NULL;

CREATE TABLE repository_name (
  name TEXT PRIMARY KEY,
  repository_id TEXT NOT NULL
, heard_at INTEGER) STRICT;

CREATE INDEX repository_name_of ON repository_name (repository_id);

CREATE TABLE run (
  id TEXT PRIMARY KEY,
  rev INTEGER NOT NULL,
  type TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  key TEXT NOT NULL,
  pair TEXT NOT NULL,
  repo TEXT,
  pr INTEGER,
  base_sha TEXT,
  head_sha TEXT,
  state TEXT NOT NULL,
  on_newer TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  round INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  order_at INTEGER,
  last_event_at INTEGER,
  rerun_wanted INTEGER NOT NULL,
  lease_hash TEXT,
  past_lease_hashes TEXT NOT NULL,
  completed_lease_hash TEXT,
  lease_ms INTEGER NOT NULL,
  lease_expires_at INTEGER,
  holder TEXT,
  worker TEXT,
  available_at INTEGER,
  due_at INTEGER,
  attempts_max INTEGER NOT NULL,
  timeout_ms INTEGER NOT NULL,
  pending_timeout_ms INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  deadline_at INTEGER,
  superseded_by TEXT,
  outcome TEXT,
  verdict TEXT,
  summary TEXT,
  description TEXT,
  target_url TEXT,
  input TEXT,
  result TEXT,
  error_code TEXT,
  error_text TEXT,
  webhook_id TEXT,
  trigger_event TEXT,
  trigger_action TEXT,
  trigger_sender TEXT,
  previous_run_id TEXT,
  previous_head_sha TEXT,
  previous_verdict TEXT, claim_fence INTEGER NOT NULL DEFAULT 0, anchor_per TEXT, status_context TEXT, check_name TEXT, locale TEXT NOT NULL DEFAULT 'en', reports TEXT NOT NULL DEFAULT '[]', scope TEXT NOT NULL DEFAULT '', token_id TEXT, token_until INTEGER, asked INTEGER NOT NULL DEFAULT 0,
  CONSTRAINT run_state_known CHECK (state IN ('pending', 'running', 'waiting', 'succeeded',
    'failed', 'cancelled', 'skipped', 'superseded')),
  CONSTRAINT run_ended_has_time CHECK
    ((finished_at IS NULL) = (state IN ('pending', 'running', 'waiting'))),
  CONSTRAINT run_running_is_held CHECK
    (state <> 'running' OR (lease_hash IS NOT NULL AND lease_expires_at IS NOT NULL)),
  CONSTRAINT run_counts_from_one CHECK (attempt >= 1 AND round >= 1 AND fence >= 1)
) STRICT;

CREATE INDEX run_active ON run (subject_id, fence)
  WHERE state IN ('pending', 'running', 'waiting');

CREATE INDEX run_available ON run (asked DESC, available_at) WHERE available_at IS NOT NULL;

CREATE INDEX run_available_of_type ON run (type, asked DESC, available_at)
  WHERE available_at IS NOT NULL;

CREATE INDEX run_due ON run (due_at) WHERE due_at IS NOT NULL;

CREATE INDEX run_ended ON run (state, finished_at) WHERE finished_at IS NOT NULL;

CREATE INDEX run_finished ON run (finished_at) WHERE finished_at IS NOT NULL;

CREATE INDEX run_head_sha ON run (head_sha, claim_fence);

CREATE UNIQUE INDEX run_job_key ON run (key, type, scope) WHERE pr IS NULL;

CREATE UNIQUE INDEX run_one_active ON run (subject_id)
  WHERE on_newer = 'supersede' AND state IN ('pending', 'running', 'waiting');

CREATE UNIQUE INDEX run_one_ahead ON run (subject_id)
  WHERE (state IN ('running', 'waiting') OR available_at IS NOT NULL);

CREATE UNIQUE INDEX run_pair ON run (subject_id, pair);

CREATE INDEX run_scope ON run (scope, id);

CREATE INDEX run_state ON run (state, id);

CREATE INDEX run_token ON run (token_id)
  WHERE token_id IS NOT NULL AND state IN ('running', 'waiting');

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
  code_version TEXT, lease_hash TEXT NOT NULL DEFAULT '', late_results TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (run_id, round, name),
  CONSTRAINT step_state_known CHECK (state IN ('started', 'done', 'failed', 'held', 'open')),
  CONSTRAINT step_policy_known CHECK (policy IN ('repeat', 'confirm', 'hold')),
  CONSTRAINT step_ended_has_time CHECK ((ended_at IS NOT NULL) = (state IN ('done', 'failed'))),
  CONSTRAINT step_done_has_result CHECK ((result IS NOT NULL) = (state = 'done'))
) STRICT;

CREATE TABLE store_state (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

CREATE TABLE subject (
  id TEXT PRIMARY KEY,
  type TEXT NOT NULL,
  scope TEXT NOT NULL,
  name TEXT NOT NULL,
  current_run_id TEXT,
  current_pair TEXT,
  head_sha TEXT,
  head_before TEXT,
  head_at INTEGER,
  floor_at INTEGER,
  finished_run_id TEXT,
  finished_head_sha TEXT,
  finished_verdict TEXT,
  created_at INTEGER NOT NULL,
  touched_at INTEGER NOT NULL, thread_created_at INTEGER, current_ended TEXT,
  CONSTRAINT subject_order_below_floor CHECK (head_at IS NULL OR head_at <= floor_at)
) STRICT;

CREATE UNIQUE INDEX subject_name ON subject (scope, name, type);

CREATE TABLE subject_event (
  subject_id TEXT NOT NULL,
  webhook_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (subject_id, webhook_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX subject_event_at ON subject_event (at);

CREATE TABLE token (
  id TEXT PRIMARY KEY,
  scope TEXT NOT NULL,
  name TEXT,
  user_id INTEGER,
  secret_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL
, types TEXT, expires_at INTEGER, last_used_at INTEGER) STRICT;

CREATE TABLE token_repository (
  token_id TEXT NOT NULL,
  pattern TEXT NOT NULL,
  repository_id TEXT,
  PRIMARY KEY (token_id, pattern)
) WITHOUT ROWID, STRICT;

CREATE INDEX token_repository_id ON token_repository (repository_id)
  WHERE repository_id IS NOT NULL;

CREATE TABLE told_name (
  repository_id TEXT NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (repository_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE unclosed_run (
  run_id TEXT PRIMARY KEY,
  closed_to TEXT NOT NULL
) STRICT, WITHOUT ROWID;
