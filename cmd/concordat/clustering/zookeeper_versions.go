package clustering

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/cmd/cli"
	"concordat/instance"
)

// saveSettings saves next as the successor of version.
func (a *commands) saveSettings(ctx context.Context, s *zk.Session, version int64, next instance.CentralSettings) error {
	if err := next.Validate(); err != nil {
		return cli.Usage(err)
	}
	b, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return err
	}
	now, err := s.SetSettings(ctx, version, append(b, '\n'))
	switch {
	case errors.Is(err, coord.ErrUnknown):
		return fmt.Errorf("%w: check with concordat cluster zookeeper history whether version %d exists", err, version+1)
	case err != nil:
		return err
	}
	if a.JSON {
		return a.Line(map[string]int64{"version": now})
	}
	a.Say("the settings are at version %d", now)
	return nil
}
