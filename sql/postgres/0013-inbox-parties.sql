-- Whose a webhook is: its repository's. What waits is looked for party by party, so that one with
-- many that wait keeps nobody else's from being found.
ALTER TABLE inbox ADD COLUMN party TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE inbox SET party = coalesce(CAST(repo_id AS text), repo, lane);
DROP INDEX inbox_due;
CREATE INDEX inbox_due ON inbox (party, due_at) WHERE due_at IS NOT NULL;
-- The first of each lane.
CREATE INDEX inbox_due_untried ON inbox (party, lane, arrival)
  WHERE due_at IS NOT NULL AND tries = 0;
CREATE INDEX inbox_due_tried ON inbox (party, due_at) WHERE due_at IS NOT NULL AND tries > 0;
