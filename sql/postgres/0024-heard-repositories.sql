-- A repository that GitHub has told of is in use, also where nothing was claimed there yet.
UPDATE repository SET used_at = created_at
  WHERE used_at IS NULL AND github_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM told_name WHERE told_name.repository_id = repository.id);
