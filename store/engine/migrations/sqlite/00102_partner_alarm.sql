-- +goose Up

-- What a partner did that somebody should look into.
CREATE TABLE partner_alarm (
    seq     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    partner TEXT    NOT NULL,
    kind    TEXT    NOT NULL, -- probing, audit_stopped or audit_contradicts
    library TEXT    NOT NULL, -- empty: none
    at      INTEGER NOT NULL
) STRICT;
CREATE INDEX partner_alarm_partner ON partner_alarm (partner, at);
