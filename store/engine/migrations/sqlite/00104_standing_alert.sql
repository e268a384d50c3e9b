-- +goose Up

-- What later documents matched: standing checks of this site (side 'found'), and standing questions of partners that were told of
-- documents of this site (side 'told', which has no task). Times are microseconds since 1970 UTC, 0 for none.
CREATE TABLE standing_alert (
    seq        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    side       TEXT    NOT NULL,
    task       TEXT    REFERENCES task (id) ON DELETE CASCADE,
    at         INTEGER NOT NULL,
    partner    TEXT    NOT NULL, -- who asks; empty: this site
    job        TEXT    NOT NULL, -- of the partner's question
    purpose    TEXT    NOT NULL, -- likewise
    asked      INTEGER NOT NULL, -- likewise
    site       TEXT    NOT NULL, -- where the document is
    library    TEXT    NOT NULL,
    document   TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    author     TEXT    NOT NULL,
    contact    TEXT    NOT NULL,
    level      TEXT    NOT NULL,
    sentences  INTEGER NOT NULL, -- of the check that match
    words      TEXT    NOT NULL,
    spans      BLOB    NOT NULL, -- of the submission, or of this site's document
    read_by    TEXT    NOT NULL,
    read_at    INTEGER NOT NULL,
    handled_by TEXT    NOT NULL,
    handled_at INTEGER NOT NULL
) STRICT;
CREATE INDEX standing_alert_task ON standing_alert (task);
CREATE INDEX standing_alert_document ON standing_alert (site, library, document);

INSERT INTO standing_alert (side, task, at, partner, job, purpose, asked, site, library, document, title, author, contact, level,
    sentences, words, spans, read_by, read_at, handled_by, handled_at)
SELECT 'found', task, at, '', '', '', 0, site, library, document, title, author, contact, level, sentences, words, spans, '', 0, '', 0
FROM alert ORDER BY seq;
DROP TABLE alert;
