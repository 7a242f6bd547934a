-- Webhooks that were given up are shown until somebody has them decided again.
CREATE INDEX inbox_failed ON inbox (arrival) WHERE state = 'failed';
