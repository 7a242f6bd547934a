-- A write of an index costs as much as a row. The key of a pull request's run is found by its commit,
-- the key of a job by run_job_key.
DROP INDEX run_key;
