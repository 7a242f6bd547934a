-- What a run publishes itself stands behind what it has waiting already.
CREATE INDEX delivery_place ON delivery (run_id, waits_since) WHERE waits_since IS NOT NULL;
