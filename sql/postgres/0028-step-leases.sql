-- The hash of the lease of the holder that began the step: only this holder's late result counts.
-- Of a step that was begun before, only the present holder's result counts.
ALTER TABLE step ADD COLUMN lease_hash TEXT COLLATE "C" NOT NULL DEFAULT '';
