-- The heads that GitHub has to be asked about, the oldest question first.
CREATE INDEX head_check_asked ON head_check (created_at);
