-- The last round of keys whose run is gone: the next one is another, and so is what it publishes.
CREATE TABLE past_round (
  subject_id TEXT COLLATE "C" NOT NULL,
  pair TEXT COLLATE "C" NOT NULL,
  round BIGINT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (subject_id, pair)
);
CREATE INDEX past_round_at ON past_round (at);
