package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"concordat/instance/config"
	"concordat/store"
)

// This file handles what interrupted work leaves in a site's folder. The next process that has the folder to itself removes everything
// that might contain text, and does so before a deletion is reported as complete; doctor lists the rest.

// AddingPrefix begins the name of a file being added to a library; the file exists only briefly. Earlier versions used folders of that
// name.
const AddingPrefix = ".adding-"

// ClearRemains removes what earlier processes left behind of additions, uploads and encrypted backups. The caller must have locked the
// site. If another process is making an encrypted backup, that backup fails and can be repeated.
func (o *Instance) ClearRemains() error {
	entries, err := os.ReadDir(o.Dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), AddingPrefix) || e.Name() == BackupStageName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(o.Dir, e.Name())))
		}
	}
	if err == nil {
		err = Originals(o.Dir, o.Config, o.Store).Sweep(o.noUploadBefore())
	}
	if err != nil {
		return fmt.Errorf("clean up after interrupted work: %w", err)
	}
	return nil
}

// stillUploading exceeds the duration of any upload.
const stillUploading = 2 * time.Hour

// noUploadBefore returns the earliest time at which an upload still in progress could have begun.
func (o *Instance) noUploadBefore() time.Time {
	if sharesFolder(o.Config) {
		return time.Now().Add(-stillUploading)
	}
	return o.Since
}

// sharesFolder reports whether processes of several nodes write to the same folder of originals.
func sharesFolder(c *config.Config) bool { return c.Clustered() && c.Store.URL == "" }

// RecentUploads is how far back to look for uploads without a result; the hourly sweep has removed older ones.
const RecentUploads = 48 * time.Hour

// ForgetUploads removes complete uploads that were not reported before the process ended. Call it just before serving the site.
func (o *Instance) ForgetUploads(ctx context.Context, files *store.Files) error {
	if o.Config.Clustered() || o.Config.Store.URL != "" {
		return nil // another node might be receiving one
	}
	needed := func(hash string) (bool, error) { return o.Store.Retention.OriginalNeeded(ctx, hash) }
	_, err := files.Forget(ctx, o.Since.Add(-RecentUploads), o.Since, needed)
	return err
}
