-- Which decision asks GitHub about a head: an answer to an earlier question is no answer to it.
ALTER TABLE head_check ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;
-- The events of a lane in the order they came in.
CREATE INDEX inbox_arrivals ON inbox (lane, arrival);
