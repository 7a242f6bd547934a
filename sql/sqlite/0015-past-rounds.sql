-- The last round of keys whose run is gone: the next one is another, and so is what it publishes.
CREATE TABLE past_round (
  subject_id TEXT NOT NULL,
  pair TEXT NOT NULL,
  round INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (subject_id, pair)
) STRICT, WITHOUT ROWID;
CREATE INDEX past_round_at ON past_round (at);
