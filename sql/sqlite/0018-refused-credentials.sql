-- What was refused, a token or a signature: each is asked for on its own, however many others are.
ALTER TABLE audit ADD COLUMN refused TEXT;
CREATE INDEX audit_refused ON audit (refused, id) WHERE refused IS NOT NULL;
