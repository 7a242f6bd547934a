-- What waits until its identity may write again stands in a queue per identity and channel, out of
-- the way of everything else that is due.
ALTER TABLE delivery ADD COLUMN queue TEXT;
DROP INDEX delivery_due;
CREATE INDEX delivery_due ON delivery (priority, due_at)
  WHERE due_at IS NOT NULL AND queue IS NULL;
CREATE INDEX delivery_queue ON delivery (queue, priority, changed_at) WHERE queue IS NOT NULL;

-- From when on an identity may write again; its progress may have to wait longer.
ALTER TABLE budget ADD COLUMN writes_from INTEGER;
ALTER TABLE budget ADD COLUMN progress_from INTEGER;

-- Reads that repair are looked for by a priority of their own.
UPDATE delivery SET priority = 2
  WHERE due_at IS NOT NULL AND (status <> 'PENDING' OR wait = 'in_doubt');
