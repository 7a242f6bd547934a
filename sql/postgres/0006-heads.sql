-- What was heard of a pull request's head: reconciling and comments that ask for work go by it.
-- `makes_head`: its event made this commit the head, rather than telling of one.
ALTER TABLE inbox ADD COLUMN head_sha TEXT COLLATE "C";
ALTER TABLE inbox ADD COLUMN makes_head INTEGER NOT NULL DEFAULT 0;
CREATE INDEX inbox_head ON inbox (lane, event_at) WHERE head_sha IS NOT NULL;
