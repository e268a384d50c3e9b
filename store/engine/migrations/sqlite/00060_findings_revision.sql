-- +goose Up

-- Grows with every replacement, so that who has read findings can tell whether they are still the same.
ALTER TABLE findings ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
