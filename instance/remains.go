package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"concordat/store"
)

// What work that was cut short leaves in the folder of a site. All that can hold text is removed by the next process that
// has the folder for itself, and before a deletion is called done; doctor names the rest.

// AddingPrefix begins the name of a file on its way into a library, which it has for a moment only. Earlier versions kept
// folders of that name for as long as a file was on its way.
const AddingPrefix = ".adding-"

// ClearRemains removes what processes before this one left of additions, uploads and encrypted backups. The caller has the
// lock of the site. An encrypted backup that another process is making fails, and can be begun again.
func (o *Instance) ClearRemains() error {
	entries, err := os.ReadDir(o.Dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), AddingPrefix) || e.Name() == BackupStageName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(o.Dir, e.Name())))
		}
	}
	if err == nil {
		err = o.Originals().Sweep(o.noUploadBefore())
	}
	if err != nil {
		return fmt.Errorf("remove what was cut short: %w", err)
	}
	return nil
}

// stillUploading is longer than any upload may take.
const stillUploading = 2 * time.Hour

// noUploadBefore is the time before which no upload began that can still be under way.
func (o *Instance) noUploadBefore() time.Time {
	if o.sharesFolder() {
		return time.Now().Add(-stillUploading)
	}
	return o.Since
}

// sharesFolder reports whether processes of several nodes put into one folder of originals.
func (o *Instance) sharesFolder() bool { return o.Clustered() && o.Config.Store.URL == "" }

// RecentUploads is how far back uploads are looked for that nothing came of: the hourly sweep has removed older ones.
const RecentUploads = 48 * time.Hour

// ForgetUploads removes files that were uploaded whole but not reported to anybody before the process ended. The
// caller serves the site and has not begun to.
func (o *Instance) ForgetUploads(ctx context.Context, files *store.Files) error {
	if o.Clustered() || o.Config.Store.URL != "" {
		return nil // another node may be at one
	}
	needed := func(hash string) (bool, error) { return o.Store.Retention.OriginalNeeded(ctx, hash) }
	_, err := files.Forget(ctx, o.Since.Add(-RecentUploads), o.Since, needed)
	return err
}
