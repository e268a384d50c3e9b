-- +goose Up

-- 1: a document of the library that its owner does not ship, since it has shown it in word sets; no fingerprint is here.
ALTER TABLE mirror_document ADD COLUMN withheld INTEGER NOT NULL DEFAULT 0;
