-- +goose Up

-- Wording of a library that counts although many of its documents hold it: its keeper decided so.
ALTER TABLE template ADD COLUMN counts INTEGER NOT NULL DEFAULT 0;
