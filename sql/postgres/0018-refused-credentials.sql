-- What was refused, a token or a signature: each is asked for on its own, however many others are.
ALTER TABLE audit ADD COLUMN refused TEXT COLLATE "C";
CREATE INDEX audit_refused ON audit (refused, seq) WHERE refused IS NOT NULL;
