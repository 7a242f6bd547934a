-- When a name was last heard, by GitHub's time: names are learnt in that order, not as they arrive.
ALTER TABLE repository ADD COLUMN named_at INTEGER;
ALTER TABLE repository_name ADD COLUMN heard_at INTEGER;
UPDATE repository SET named_at = used_at WHERE github_id IS NOT NULL;
UPDATE repository_name SET heard_at = (
  SELECT used_at FROM repository
  WHERE repository.id = repository_id AND repository.name = repository_name.name
    AND github_id IS NOT NULL
);
