-- +goose Up

-- Learning platforms that may use the site (LTI 1.3).
CREATE TABLE lti_platform (
    id          TEXT    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL,
    issuer      TEXT    NOT NULL,
    client      TEXT    NOT NULL, -- how the platform knows this site
    auth_url    TEXT    NOT NULL,
    token_url   TEXT    NOT NULL,
    token_aud   TEXT    NOT NULL, -- audience of requests for tokens; empty: token_url
    keys_url    TEXT    NOT NULL,
    deployments TEXT    NOT NULL, -- JSON list
    hosts       TEXT    NOT NULL, -- JSON list: of its services beside those above
    disabled    INTEGER NOT NULL,
    made        INTEGER NOT NULL,
    UNIQUE (issuer, client)
) STRICT, WITHOUT ROWID;

-- Choices that a teacher made for an activity. An empty context holds those with which it was made;
-- a copy of a course has the same id in another context.
CREATE TABLE lti_processor (
    platform TEXT    NOT NULL,
    id       TEXT    NOT NULL,
    context  TEXT    NOT NULL,
    choices  TEXT    NOT NULL, -- JSON
    made     INTEGER NOT NULL,
    PRIMARY KEY (platform, id, context)
) STRICT, WITHOUT ROWID;

-- Files that a platform asked to have checked.
CREATE TABLE lti_asset (
    id         TEXT    NOT NULL PRIMARY KEY,
    platform   TEXT    NOT NULL,
    deployment TEXT    NOT NULL,
    context    TEXT    NOT NULL,
    activity   TEXT    NOT NULL,
    submission TEXT    NOT NULL,
    asset      TEXT    NOT NULL, -- as the platform names it
    learner    TEXT    NOT NULL, -- as the platform names who handed it in
    processor  TEXT    NOT NULL, -- whose choices count; may be empty
    url        TEXT    NOT NULL,
    report_url TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    filename   TEXT    NOT NULL,
    media      TEXT    NOT NULL, -- content type that the platform told
    digest     TEXT    NOT NULL, -- SHA-256 that the platform told, hexadecimal; may be empty
    state      TEXT    NOT NULL, -- fetch, check, done, failed
    told       TEXT    NOT NULL, -- the progress that the platform was told last
    code       TEXT    NOT NULL, -- of a failure
    cause      TEXT    NOT NULL, -- for the administrator
    task       TEXT    NOT NULL, -- empty: none yet
    attempts   INTEGER NOT NULL, -- in vain in this state
    due        INTEGER NOT NULL, -- when it is looked at next
    made       INTEGER NOT NULL,
    UNIQUE (platform, deployment, report_url, asset)
) STRICT, WITHOUT ROWID;
CREATE INDEX lti_asset_due ON lti_asset (state, due);
CREATE INDEX lti_asset_task ON lti_asset (task);
CREATE INDEX lti_asset_made ON lti_asset (made);

-- Whose a check is, where it came from a learning platform.
CREATE TABLE lti_check (
    task       TEXT    NOT NULL PRIMARY KEY,
    platform   TEXT    NOT NULL,
    deployment TEXT    NOT NULL,
    context    TEXT    NOT NULL,
    learner    TEXT    NOT NULL,
    made       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX lti_check_context ON lti_check (platform, deployment, context, made);
