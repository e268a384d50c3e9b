-- +goose Up

-- Addresses below which a token accepts notifications, parted by spaces.
ALTER TABLE token ADD COLUMN origins TEXT NOT NULL DEFAULT '';

-- Notifications of other programs in the inbox of this site (Linked Data Notifications, COAR Notify).
CREATE TABLE notification (
    seq      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id       TEXT    NOT NULL UNIQUE,
    account  TEXT    NOT NULL, -- for which the sender's token acts
    activity TEXT    NOT NULL, -- as the sender names it
    kind     TEXT    NOT NULL, -- its types, as the sender gives them
    origin   TEXT    NOT NULL, -- address of the sender
    inbox    TEXT    NOT NULL, -- address of answers
    object   TEXT    NOT NULL, -- address of what it is about
    body     TEXT    NOT NULL, -- JSON, as it came
    state    TEXT    NOT NULL, -- fetching, checking, done, failed, withdrawn, noted, refused
    task     TEXT    NOT NULL, -- empty: none yet
    cause    TEXT    NOT NULL,
    attempts INTEGER NOT NULL, -- in vain in this state
    due      INTEGER NOT NULL, -- when it is looked at next
    made     INTEGER NOT NULL,
    UNIQUE (account, activity)
) STRICT;
CREATE INDEX notification_due ON notification (state, due);
CREATE INDEX notification_task ON notification (task);
CREATE INDEX notification_made ON notification (made);

-- What the senders are answered, in order.
CREATE TABLE notification_answer (
    seq          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id           TEXT    NOT NULL UNIQUE, -- of the activity
    notification TEXT    NOT NULL REFERENCES notification (id) ON DELETE CASCADE,
    kind         TEXT    NOT NULL,
    body         TEXT    NOT NULL, -- JSON, as it is sent
    state        TEXT    NOT NULL, -- pending, delivered, dead
    attempts     INTEGER NOT NULL,
    due          INTEGER NOT NULL,
    until        INTEGER NOT NULL, -- no attempt after that
    status       INTEGER NOT NULL, -- HTTP status of the latest answer; 0: none
    cause        TEXT    NOT NULL, -- of the latest failure, or what the receiver objected to
    made         INTEGER NOT NULL,
    ended        INTEGER NOT NULL  -- 0: not yet
) STRICT;
CREATE INDEX notification_answer_due ON notification_answer (state, due);
CREATE INDEX notification_answer_of ON notification_answer (notification, seq);
