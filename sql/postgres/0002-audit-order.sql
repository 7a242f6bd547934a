-- The order of commits. An id is drawn before its transaction commits, so a late commit can show a
-- lower id after a reader has passed it. `seq` is given after the commit, under a lock: whoever has
-- seen a number will never meet a lower one for the first time.

ALTER TABLE audit ADD COLUMN seq BIGINT;
UPDATE audit SET seq = id;
-- The last number given. Kept apart from the rows, which are purged.
INSERT INTO store_state (key, value)
  SELECT 'audit_order', CAST(max(id) AS TEXT) FROM audit HAVING count(*) > 0;

CREATE UNIQUE INDEX audit_seq ON audit (seq) WHERE seq IS NOT NULL;
-- Committed, and not given a number yet.
CREATE INDEX audit_unplaced ON audit (id) WHERE seq IS NULL;

-- Pages go by that order.
DROP INDEX audit_run;
DROP INDEX audit_type;
DROP INDEX audit_at;
CREATE INDEX audit_run ON audit (run_id, seq) WHERE run_id IS NOT NULL;
CREATE INDEX audit_type ON audit (type, seq) WHERE seq IS NOT NULL;
CREATE INDEX audit_at ON audit (at, seq);
