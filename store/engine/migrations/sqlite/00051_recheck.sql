-- Checks and batches that are done again.

-- +goose Up
CREATE TABLE recheck (
    kind   TEXT    NOT NULL, -- check or batch
    target TEXT    NOT NULL, -- the task or the batch
    owner  TEXT    NOT NULL,
    every  INTEGER NOT NULL, -- days; 0: once
    next   INTEGER NOT NULL, -- 0: never again
    latest TEXT    NOT NULL, -- the newest task of a check; empty: the target itself
    due    TEXT    NOT NULL, -- the task that runs; empty: none does
    fresh  TEXT    NOT NULL, -- JSON: sources that the latest run was the first to find
    ran    INTEGER NOT NULL, -- when it was done last
    PRIMARY KEY (kind, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX recheck_next ON recheck (next);
