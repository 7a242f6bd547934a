-- The outbox: everything that must leave, and every try to send it.

-- How a run is announced is decided with its round, and kept: the end of a run has to close what
-- its beginning opened. `claim_fence` is the fence of the claim that began the round.
ALTER TABLE run ADD COLUMN claim_fence BIGINT NOT NULL DEFAULT 0;
UPDATE run SET claim_fence = fence;
ALTER TABLE run ADD COLUMN anchor_per TEXT COLLATE "C";
ALTER TABLE run ADD COLUMN status_context TEXT COLLATE "C";
ALTER TABLE run ADD COLUMN check_name TEXT COLLATE "C";
ALTER TABLE run ADD COLUMN locale TEXT COLLATE "C" NOT NULL DEFAULT 'en';
ALTER TABLE run ADD COLUMN reports TEXT COLLATE "C" NOT NULL DEFAULT '[]';

-- By GitHub's clock; null while nobody has said.
ALTER TABLE subject ADD COLUMN thread_created_at BIGINT;

-- One row per target. There is something to do about it while `due_at` is set, also after SENT.
CREATE TABLE delivery (
  id TEXT COLLATE "C" PRIMARY KEY,
  rev BIGINT NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  channel TEXT COLLATE "C" NOT NULL,
  target TEXT COLLATE "C" NOT NULL UNIQUE,
  name TEXT COLLATE "C" NOT NULL,
  run_id TEXT COLLATE "C" NOT NULL,
  subject_id TEXT COLLATE "C" NOT NULL,
  repository_id TEXT COLLATE "C" NOT NULL,
  thread BIGINT,
  sha TEXT COLLATE "C",
  marker_key TEXT COLLATE "C" NOT NULL,
  round BIGINT NOT NULL,
  version_fence BIGINT NOT NULL,
  version_seq BIGINT NOT NULL,
  content TEXT COLLATE "C" NOT NULL,
  final BIGINT NOT NULL,
  announces BIGINT NOT NULL,
  status TEXT COLLATE "C" NOT NULL,
  reason TEXT COLLATE "C",
  wait TEXT COLLATE "C",
  priority BIGINT NOT NULL,
  due_at BIGINT,
  lease_id TEXT COLLATE "C",
  leased_until BIGINT,
  attempt_id TEXT COLLATE "C",
  tries BIGINT NOT NULL,
  deadline_at BIGINT NOT NULL,
  announced_fence BIGINT,
  sent_fence BIGINT,
  sent_seq BIGINT,
  sent_hash TEXT COLLATE "C",
  sent_at BIGINT,
  shown_since BIGINT,
  provider_id TEXT COLLATE "C",
  provider_url TEXT COLLATE "C",
  coalesced BIGINT NOT NULL,
  memo TEXT COLLATE "C" NOT NULL,
  error_code TEXT COLLATE "C",
  error_text TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  closed_at BIGINT,
  CONSTRAINT delivery_kind_known CHECK (kind IN ('state', 'message')),
  CONSTRAINT delivery_status_known CHECK (status IN ('PENDING', 'SENT', 'FAILED', 'SKIPPED')),
  CONSTRAINT delivery_closed_has_time CHECK ((closed_at IS NULL) = (status = 'PENDING')),
  CONSTRAINT delivery_open_waits CHECK ((wait IS NOT NULL) = (status = 'PENDING')),
  CONSTRAINT delivery_refusal_has_reason CHECK
    (status NOT IN ('FAILED', 'SKIPPED') OR reason IS NOT NULL)
);
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
  id TEXT COLLATE "C" PRIMARY KEY,
  delivery_id TEXT COLLATE "C" NOT NULL,
  action TEXT COLLATE "C" NOT NULL,
  version_fence BIGINT NOT NULL,
  version_seq BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT,
  outcome TEXT COLLATE "C",
  late BIGINT NOT NULL,
  error_code TEXT COLLATE "C",
  error_text TEXT COLLATE "C",
  http_status BIGINT,
  request_id TEXT COLLATE "C",
  github_request_id TEXT COLLATE "C",
  provider_id TEXT COLLATE "C",
  CONSTRAINT attempt_outcome_known CHECK (outcome IS NULL OR outcome IN
    ('sent', 'retry', 'permanent', 'rate_limited', 'in_doubt', 'not_sent')),
  CONSTRAINT attempt_ended_has_outcome CHECK ((ended_at IS NULL) = (outcome IS NULL))
);
CREATE INDEX delivery_attempt_of ON delivery_attempt (delivery_id, id);

-- What one identity may still write. Windows are JSON: [since, all, progress] per second or minute.
CREATE TABLE budget (
  identity TEXT COLLATE "C" PRIMARY KEY,
  rev BIGINT NOT NULL,
  last_write_at BIGINT,
  seconds TEXT COLLATE "C" NOT NULL,
  minutes TEXT COLLATE "C" NOT NULL,
  blocked_until BIGINT,
  blocked_reason TEXT COLLATE "C",
  updated_at BIGINT NOT NULL
);

-- Every account this store has published as: what they wrote with our marker is ours.
CREATE TABLE author (
  kind TEXT COLLATE "C" NOT NULL,
  github_id BIGINT NOT NULL,
  first_seen_at BIGINT NOT NULL,
  PRIMARY KEY (kind, github_id)
);

-- Markers are signed with the newest and verified with any.
CREATE TABLE marker_key (
  id TEXT COLLATE "C" PRIMARY KEY,
  secret TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);

ALTER TABLE audit ADD COLUMN delivery_id TEXT COLLATE "C";
CREATE INDEX audit_delivery ON audit (delivery_id, seq) WHERE delivery_id IS NOT NULL;
