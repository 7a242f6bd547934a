-- A new version keeps the place in its queue that the one before it had.
ALTER TABLE delivery ADD COLUMN waits_since INTEGER;
UPDATE delivery SET waits_since = changed_at WHERE queue IS NOT NULL;
DROP INDEX delivery_queue;
CREATE INDEX delivery_queue ON delivery (queue, priority, waits_since) WHERE queue IS NOT NULL;
