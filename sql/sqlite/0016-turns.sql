-- What a run publishes while it has a message waiting goes in turns with what other runs do.
ALTER TABLE delivery ADD COLUMN turn INTEGER;
DROP INDEX delivery_queue;
CREATE INDEX delivery_queue ON delivery (queue, priority, turn, waits_since)
  WHERE queue IS NOT NULL;
CREATE INDEX delivery_turn ON delivery (queue, run_id, turn) WHERE turn IS NOT NULL;
CREATE INDEX delivery_message ON delivery (run_id)
  WHERE kind = 'message' AND status = 'PENDING';
-- And has a share of its own of what its identity may write.
ALTER TABLE budget ADD COLUMN further_from INTEGER;
