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

// This file handles remains of interrupted work in the folder of a site. The next process that has the folder to itself removes everything
// that may contain text, and also does so before a deletion is reported as done; doctor names the rest.

// AddingPrefix begins the name of a file that is being added to a library; it exists only for a moment. Earlier versions had
// folders of that name while a file was being added.
const AddingPrefix = ".adding-"

// ClearRemains removes what earlier processes left of additions, uploads and encrypted backups. The caller must have the lock of the site.
// An encrypted backup that another process is making fails and can be started again.
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
		return fmt.Errorf("remove leftovers of interrupted work: %w", err)
	}
	return nil
}

// stillUploading is longer than any upload may take.
const stillUploading = 2 * time.Hour

// noUploadBefore returns the earliest time at which an upload that is still under way can have begun.
func (o *Instance) noUploadBefore() time.Time {
	if o.sharesFolder() {
		return time.Now().Add(-stillUploading)
	}
	return o.Since
}

// sharesFolder reports whether processes of several nodes write to one folder of originals.
func (o *Instance) sharesFolder() bool { return o.Clustered() && o.Config.Store.URL == "" }

// RecentUploads is how far back to look for uploads without a result, since the hourly sweep has removed older ones.
const RecentUploads = 48 * time.Hour

// ForgetUploads removes complete uploads that were not reported before the process ended. The caller is about to serve the
// site.
func (o *Instance) ForgetUploads(ctx context.Context, files *store.Files) error {
	if o.Clustered() || o.Config.Store.URL != "" {
		return nil // another node may be receiving one
	}
	needed := func(hash string) (bool, error) { return o.Store.Retention.OriginalNeeded(ctx, hash) }
	_, err := files.Forget(ctx, o.Since.Add(-RecentUploads), o.Since, needed)
	return err
}
