-- Tokens that reach less, end by themselves and show when they were last used; and which token a
-- lease was obtained with, so that the lease ends with it.
ALTER TABLE token ADD COLUMN types TEXT;
ALTER TABLE token ADD COLUMN expires_at INTEGER;
ALTER TABLE token ADD COLUMN last_used_at INTEGER;

-- A token with rows here reaches only these repositories. One that names a single repository has
-- its id, so that it goes on meaning that one when it is renamed and its name given away.
CREATE TABLE token_repository (
  token_id TEXT NOT NULL,
  pattern TEXT NOT NULL,
  repository_id TEXT,
  PRIMARY KEY (token_id, pattern)
) WITHOUT ROWID, STRICT;
CREATE INDEX token_repository_id ON token_repository (repository_id)
  WHERE repository_id IS NOT NULL;

-- The lease of a run is over at `token_until`, whoever renews it; 0 when its token was revoked.
ALTER TABLE run ADD COLUMN token_id TEXT;
ALTER TABLE run ADD COLUMN token_until INTEGER;
CREATE INDEX run_token ON run (token_id)
  WHERE token_id IS NOT NULL AND state IN ('running', 'waiting');
