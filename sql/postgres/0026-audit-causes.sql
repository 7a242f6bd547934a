-- What led to an audit row: another audit row. Null where nothing did but a person, a program or
-- the passing of time, and in rows from before this column.
ALTER TABLE audit ADD COLUMN cause_id BIGINT;
-- The audit row behind a delivery's newest version: the cause of whatever is told of sending it.
ALTER TABLE delivery ADD COLUMN cause_id BIGINT;
