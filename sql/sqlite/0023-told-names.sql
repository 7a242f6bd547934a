-- Names that only a caller gave to GitHub's id of a repository, until GitHub says so too.
CREATE TABLE told_name (
  repository_id TEXT NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (repository_id, name)
) STRICT, WITHOUT ROWID;
