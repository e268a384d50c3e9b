-- +goose Up

-- How many leads the report of a submission has, for lists. Scores of an older version are computed once more.
ALTER TABLE score ADD COLUMN leads INTEGER NOT NULL DEFAULT 0;
UPDATE score SET flags = -1;

