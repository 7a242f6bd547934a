-- What a run publishes on its thread is sent in that order: each waits for the one before it.
ALTER TABLE delivery ADD COLUMN line INTEGER;
CREATE INDEX delivery_line ON delivery (run_id, line) WHERE line IS NOT NULL;
