-- Names that only a caller gave to GitHub's id of a repository, until GitHub says so too.
CREATE TABLE told_name (
  repository_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (repository_id, name)
);
