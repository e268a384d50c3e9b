-- +goose Up

-- When an owner's last task began, by which people take turns in the queue.
CREATE INDEX task_turn ON task (owner, started);
