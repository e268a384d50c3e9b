package daemon

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"

	"concordat/instance"
)

// logHandler writes the log in the format log.format.
func logHandler(w io.Writer, format string, level slog.Leveler) slog.Handler {
	o := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.NewJSONHandler(w, o)
	}
	return slog.NewTextHandler(w, o)
}

// At each SIGHUP, reload rereads the keys that can change while the site runs. An invalid configuration changes nothing.
func (s *Daemon) reload(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.hangup:
		}
		next, err := instance.LoadConfig(filepath.Join(s.o.Dir, instance.ConfigName))
		if err != nil {
			s.log.Error("configuration not reloaded", "error", err)
			continue
		}
		s.use(ctx, next)
		s.log.Warn("configuration reloaded", "level", next.Log.Level)
	}
}
