-- +goose Up

-- For looking things up under Administration.
CREATE INDEX audit_actor ON audit (actor, seq);
CREATE INDEX audit_action ON audit (action, seq);
CREATE INDEX task_batch ON task (batch, seq);
