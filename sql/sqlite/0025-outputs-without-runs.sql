-- A delivery need not be a run's, nor be about a repository: a message to a person has an address.
-- SQLite cannot take a NOT NULL back, so the table is made anew; `memo` becomes `protocol`.
CREATE TABLE delivery_new (
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
  line INTEGER,
  CONSTRAINT delivery_kind_known CHECK (kind IN ('state', 'message')),
  CONSTRAINT delivery_status_known CHECK (status IN ('PENDING', 'SENT', 'FAILED', 'SKIPPED')),
  CONSTRAINT delivery_closed_has_time CHECK ((closed_at IS NULL) = (status = 'PENDING')),
  CONSTRAINT delivery_open_waits CHECK ((wait IS NOT NULL) = (status = 'PENDING')),
  CONSTRAINT delivery_refusal_has_reason CHECK
    (status NOT IN ('FAILED', 'SKIPPED') OR reason IS NOT NULL)
) STRICT;

INSERT INTO delivery_new (
  id, rev, kind, channel, target, name, run_id, subject_id, repository_id, thread, sha,
  marker_key, round, version_fence, version_seq, content, final, announces, status, reason, wait,
  priority, due_at, lease_id, leased_until, attempt_id, tries, deadline_at, announced_fence,
  sent_fence, sent_seq, sent_hash, sent_at, shown_since, provider_id, provider_url, coalesced,
  protocol, error_code, error_text, created_at, changed_at, closed_at, queue, waits_since, turn,
  line
) SELECT
  id, rev, kind, channel, target, name, run_id, subject_id, repository_id, thread, sha,
  marker_key, round, version_fence, version_seq, content, final, announces, status, reason, wait,
  priority, due_at, lease_id, leased_until, attempt_id, tries, deadline_at, announced_fence,
  sent_fence, sent_seq, sent_hash, sent_at, shown_since, provider_id, provider_url, coalesced,
  memo, error_code, error_text, created_at, changed_at, closed_at, queue, waits_since, turn, line
FROM delivery;

DROP TABLE delivery;
ALTER TABLE delivery_new RENAME TO delivery;

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
