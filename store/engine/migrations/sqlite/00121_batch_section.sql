-- +goose Up

-- How much of each section of the two documents of a pair stands in the other.
ALTER TABLE batch_pair ADD COLUMN section REAL NOT NULL DEFAULT 0.0; -- the largest share of a section of either
ALTER TABLE batch_pair ADD COLUMN sections_a TEXT NOT NULL DEFAULT '[]'; -- JSON: sections of a, with the share of each that stands in b
ALTER TABLE batch_pair ADD COLUMN sections_b TEXT NOT NULL DEFAULT '[]';
