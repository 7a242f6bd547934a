-- Marks of late results that changed nothing, the newest first, so that each is audited once.
ALTER TABLE step ADD COLUMN late_results TEXT NOT NULL DEFAULT '';
