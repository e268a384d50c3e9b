-- +goose Up

-- When a member of a batch was made, if the time of day is known: RFC 3339 to the minute or to the second, with its zone.
ALTER TABLE batch_member ADD COLUMN timed TEXT NOT NULL DEFAULT '';
