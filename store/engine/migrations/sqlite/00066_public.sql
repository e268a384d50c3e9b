-- +goose Up

-- Who made the own account at a site that is open to everybody.
ALTER TABLE account ADD COLUMN public INTEGER NOT NULL DEFAULT 0;

-- What accounts and addresses have handed in; an amount counts until its slot has left the window.
CREATE TABLE quota (
    who    TEXT    NOT NULL,
    kind   TEXT    NOT NULL,
    slot   INTEGER NOT NULL, -- beginning
    amount INTEGER NOT NULL,
    PRIMARY KEY (who, kind, slot)
) STRICT, WITHOUT ROWID;
CREATE INDEX quota_slot ON quota (slot);
