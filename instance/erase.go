package instance

import (
	"encoding/json"
	"log/slog"

	"concordat/site"
)

// Eraser returns what deletes at the site, whose index this process holds. sign signs receipts; see
// site.EraserOptions.
func Eraser(o *Instance, sign func([32]byte) (json.RawMessage, error), log *slog.Logger) *site.Eraser {
	return o.NewEraser(site.EraserOptions{
		Store:     o.Store,
		Areas:     []site.Area{o.Originals(), o.BatchFolders()},
		Batches:   o.BatchFolders(),
		Remains:   o.ClearRemains,
		Cited:     func() site.CitedPolicy { return site.CitedPolicy(o.Config.Retention.Cited) },
		Logger:    log,
		Elsewhere: o.KeptElsewhere,
		Sign:      sign,
	})
}
