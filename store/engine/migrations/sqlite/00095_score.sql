-- +goose Up

-- How much of a submission counts, as it was computed last, so that a list of checks can show it.
CREATE TABLE score (
    task     TEXT    NOT NULL PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL, -- of the findings
    rules    TEXT    NOT NULL, -- digest of the rules in force
    measured INTEGER NOT NULL, -- 0: nothing was compared
    covered  REAL    NOT NULL  -- 0 to 1
) STRICT;
