-- +goose Up

-- How many kinds of flags of a submission may hide something; -1: a score of an older version, which is computed once more.
ALTER TABLE score ADD COLUMN flags INTEGER NOT NULL DEFAULT -1;
