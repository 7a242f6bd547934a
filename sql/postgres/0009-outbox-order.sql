-- Runs of one commit, the newest claim first.
DROP INDEX run_head_sha;
CREATE INDEX run_head_sha ON run (head_sha, claim_fence);
-- Since when an identity has been blocked without a longer pause.
ALTER TABLE budget ADD COLUMN blocked_since bigint;
