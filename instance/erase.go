package instance

import (
	"encoding/json"
	"log/slog"

	"concordat/site/retain"
)

// Eraser returns the Eraser that performs deletions on the site, whose index must be open in this process. sign signs receipts; see
// retain.Options.
func Eraser(o *Instance, sign func([32]byte) (json.RawMessage, error), log *slog.Logger) *retain.Eraser {
	return retain.New(o.Site, retain.Options{
		Store:        o.Store,
		Areas:        []retain.Area{Originals(o.Dir, o.Config, o.Store), o.BatchFolders()},
		Batches:      o.BatchFolders(),
		Remains:      o.ClearRemains,
		Cited:        func() retain.CitedPolicy { return retain.CitedPolicy(o.Config.Retention.Cited) },
		Logger:       log,
		OtherProcess: o.Member.OtherDeletes,
		Sign:         sign,
		Answers:      o.Answers,
	})
}
