-- Which repository a row was merged into: what was published for it before carries its id.
ALTER TABLE repository ADD COLUMN merged_into TEXT COLLATE "C";
CREATE INDEX repository_merged ON repository (merged_into) WHERE merged_into IS NOT NULL;
UPDATE repository SET merged_into = (
  SELECT audit.data::json ->> 'into' FROM audit
  WHERE audit.type = 'repository.merged' AND audit.data::json ->> 'from' = repository.id
  ORDER BY audit.id DESC LIMIT 1)
WHERE NOT EXISTS (SELECT 1 FROM repository_name WHERE repository_id = repository.id);
