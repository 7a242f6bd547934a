-- The inbox: every webhook that was taken, and what was decided about it.

-- `arrival` is the order in which they came. An entry waits to be processed while `due_at` is set.
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
  last_error TEXT,
  CONSTRAINT inbox_state_known CHECK (state IN ('waiting', 'processed', 'failed')),
  CONSTRAINT inbox_decision_known CHECK (decision IN ('accepted', 'ignored', 'duplicate')),
  CONSTRAINT inbox_waiting_is_due CHECK ((due_at IS NOT NULL) = (state = 'waiting')),
  CONSTRAINT inbox_processed_has_time CHECK ((processed_at IS NULL) = (state = 'waiting'))
) STRICT;
-- Two deliveries can be one event: only the first has the key.
CREATE UNIQUE INDEX inbox_event_key ON inbox (event_key) WHERE event_key IS NOT NULL;
CREATE INDEX inbox_lane ON inbox (lane, event_at);
-- What GitHub said of one pull request or issue, newest first.
CREATE INDEX inbox_thread ON inbox (repo, number, arrival) WHERE number IS NOT NULL;
CREATE INDEX inbox_waiting ON inbox (lane, arrival) WHERE due_at IS NOT NULL;
CREATE INDEX inbox_due ON inbox (due_at) WHERE due_at IS NOT NULL;

-- Apart from the entry, because it is large and never changes. The body is packed with Brotli.
CREATE TABLE inbox_body (
  arrival INTEGER PRIMARY KEY,
  headers TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;

ALTER TABLE audit ADD COLUMN inbox_id TEXT;
CREATE INDEX audit_inbox ON audit (inbox_id, id) WHERE inbox_id IS NOT NULL;
