-- The outbox: everything that must leave, and every try to send it.

-- How a run is announced is decided with its round, and kept: the end of a run has to close what
-- its beginning opened. `claim_fence` is the fence of the claim that began the round.
ALTER TABLE run ADD COLUMN claim_fence INTEGER NOT NULL DEFAULT 0;
UPDATE run SET claim_fence = fence;
ALTER TABLE run ADD COLUMN anchor_per TEXT;
ALTER TABLE run ADD COLUMN status_context TEXT;
ALTER TABLE run ADD COLUMN check_name TEXT;
ALTER TABLE run ADD COLUMN locale TEXT NOT NULL DEFAULT 'en';
ALTER TABLE run ADD COLUMN reports TEXT NOT NULL DEFAULT '[]';

-- By GitHub's clock; null while nobody has said.
ALTER TABLE subject ADD COLUMN thread_created_at INTEGER;

-- One row per target. There is something to do about it while `due_at` is set, also after SENT.
CREATE TABLE delivery (
  id TEXT PRIMARY KEY,
  rev INTEGER NOT NULL,
  kind TEXT NOT NULL,
  channel TEXT NOT NULL,
  target TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  run_id TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  repository_id TEXT NOT NULL,
  thread INTEGER,
  sha TEXT,
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
  memo TEXT NOT NULL,
  error_code TEXT,
  error_text TEXT,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  closed_at INTEGER,
  CONSTRAINT delivery_kind_known CHECK (kind IN ('state', 'message')),
  CONSTRAINT delivery_status_known CHECK (status IN ('PENDING', 'SENT', 'FAILED', 'SKIPPED')),
  CONSTRAINT delivery_closed_has_time CHECK ((closed_at IS NULL) = (status = 'PENDING')),
  CONSTRAINT delivery_open_waits CHECK ((wait IS NOT NULL) = (status = 'PENDING')),
  CONSTRAINT delivery_refusal_has_reason CHECK
    (status NOT IN ('FAILED', 'SKIPPED') OR reason IS NOT NULL)
) STRICT;
CREATE INDEX delivery_due ON delivery (priority, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX delivery_leased ON delivery (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX delivery_open ON delivery (status, changed_at) WHERE status = 'PENDING';
-- What has to be closed when its run ends.
CREATE INDEX delivery_announces ON delivery (run_id) WHERE announces = 1;
CREATE INDEX delivery_run ON delivery (run_id, id);
CREATE INDEX delivery_subject ON delivery (subject_id);
CREATE INDEX delivery_repository ON delivery (repository_id);
CREATE INDEX delivery_status ON delivery (status, id);
CREATE INDEX delivery_channel ON delivery (channel, id);

-- Stored before its request leaves. Without an outcome, and its lease over, it is in doubt.
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

-- What one identity may still write. Windows are JSON: [since, all, progress] per second or minute.
CREATE TABLE budget (
  identity TEXT PRIMARY KEY,
  rev INTEGER NOT NULL,
  last_write_at INTEGER,
  seconds TEXT NOT NULL,
  minutes TEXT NOT NULL,
  blocked_until INTEGER,
  blocked_reason TEXT,
  updated_at INTEGER NOT NULL
) STRICT;

-- Every account this store has published as: what they wrote with our marker is ours.
CREATE TABLE author (
  kind TEXT NOT NULL,
  github_id INTEGER NOT NULL,
  first_seen_at INTEGER NOT NULL,
  PRIMARY KEY (kind, github_id)
) STRICT, WITHOUT ROWID;

-- Markers are signed with the newest and verified with any.
CREATE TABLE marker_key (
  id TEXT PRIMARY KEY,
  secret TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

ALTER TABLE audit ADD COLUMN delivery_id TEXT;
CREATE INDEX audit_delivery ON audit (delivery_id, id) WHERE delivery_id IS NOT NULL;
