-- What a run published under a name, found without reading all that it published.
CREATE INDEX delivery_named ON delivery (run_id, name, round);
