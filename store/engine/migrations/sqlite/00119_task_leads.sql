-- +goose Up

-- Leads of the report with which a check ended, for the event that ends what was handed in together; NULL: nobody asked for them.
ALTER TABLE task ADD COLUMN leads INTEGER;
ALTER TABLE task ADD COLUMN leads_open INTEGER;
ALTER TABLE task ADD COLUMN leads_counted INTEGER;
