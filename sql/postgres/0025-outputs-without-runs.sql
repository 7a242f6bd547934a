-- A delivery need not be a run's, nor be about a repository: a message to a person has an address.
ALTER TABLE delivery ALTER COLUMN run_id DROP NOT NULL;
ALTER TABLE delivery ALTER COLUMN subject_id DROP NOT NULL;
ALTER TABLE delivery ALTER COLUMN repository_id DROP NOT NULL;
ALTER TABLE delivery ADD COLUMN address TEXT COLLATE "C";
-- What the publish protocol has to remember between two steps.
ALTER TABLE delivery RENAME COLUMN memo TO protocol;
