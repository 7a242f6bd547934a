-- What an hourly purge looks for, so that it reads nothing it leaves alone.
CREATE INDEX inbox_done ON inbox (received_at) WHERE due_at IS NULL;
CREATE INDEX run_ended ON run (state, finished_at) WHERE finished_at IS NOT NULL;
DROP INDEX run_superseded;
