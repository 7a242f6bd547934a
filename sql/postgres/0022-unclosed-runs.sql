-- Runs that ended with more outputs of their own than one transaction closes, and how far that is.
CREATE TABLE unclosed_run (
  run_id TEXT COLLATE "C" PRIMARY KEY,
  closed_to TEXT COLLATE "C" NOT NULL
);
