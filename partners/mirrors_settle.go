package partners

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/index"
	"concordat/instance"
	"concordat/site"
	"concordat/store"
)

// settleMirrors removes documents from the index that belong to no mirror. They are left by an interrupted sync, since a sync writes to
// the index first.
func settleMirrors(ctx context.Context, o *instance.Instance, s *index.Shard, e concordat.Epoch, rows []store.Mirror) error {
	extra, err := unknownTo(ctx, o, s, e, rows)
	if err != nil {
		return err
	}
	return deleteAll(ctx, s, extra)
}

func deleteAll(ctx context.Context, s *index.Shard, refs []concordat.Ref) error {
	for part := range slices.Chunk(refs, 500) {
		if err := s.Delete(ctx, part...); err != nil {
			return err
		}
	}
	return nil
}

// unknownTo returns the indexed documents that belong to no mirror of the epoch.
func unknownTo(ctx context.Context, o *instance.Instance, s *index.Shard, e concordat.Epoch, rows []store.Mirror) ([]concordat.Ref, error) {
	known := map[concordat.Ref]bool{}
	for _, x := range rows {
		if x.Epoch != e {
			continue
		}
		for after := concordat.DocumentID(""); ; {
			docs, err := o.Store.Asks.MirrorDocuments(ctx, x.MirrorKey, after, store.MaxPage)
			if err != nil {
				return nil, err
			}
			for _, d := range docs {
				after = d.ID
				known[o.Asks.Mirrored(site.MirroredLibrary{Site: x.Site, Library: x.Library, Epoch: e}, d.ID)] = true
			}
			if len(docs) < store.MaxPage {
				break
			}
		}
	}
	return slices.DeleteFunc(s.Refs(), func(r concordat.Ref) bool { return known[r] }), nil
}

// SettleMirrors removes documents without a mirror, and indexes of epochs without one, that interrupted syncs left behind. It skips an
// index in use until the next call, and a damaged index of a known mirror until its next sync. It calls told with each cleared folder and
// its number of documents.
func SettleMirrors(ctx context.Context, o *instance.Instance, told func(folder string, documents int)) error {
	folders, err := os.ReadDir(filepath.Join(o.Dir, MirrorsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range folders {
		e, ok := epochOf(f.Name())
		if !ok {
			continue
		}
		n, cleared, err := settleFolder(ctx, o, e)
		if err != nil {
			errs = append(errs, fmt.Errorf("settle the mirrors of epoch %s: %w", e, err))
		} else if cleared {
			told(MirrorFolder(o.Dir, e), n)
		}
	}
	return errors.Join(errs...)
}

// epochOf parses the epoch in the name of a folder from MirrorFolder.
func epochOf(name string) (e concordat.Epoch, ok bool) {
	i := strings.LastIndexByte(name, '-')
	if i <= 0 {
		return e, false
	}
	n, err := strconv.ParseUint(name[i+1:], 10, 32)
	e = concordat.Epoch{Federation: concordat.FederationID(name[:i]), Number: uint32(n)}
	return e, err == nil && filepath.Base(MirrorFolder("", e)) == name
}

// settleFolder settles the index of one epoch. It examines the index while checks read it, and takes exclusive access only if it has to
// remove something.
func settleFolder(ctx context.Context, o *instance.Instance, e concordat.Epoch) (documents int, cleared bool, err error) {
	if s, err := OpenMirrors(o, e, "", false); errors.Is(err, concordat.ErrLocked) {
		return 0, false, nil
	} else if err == nil {
		mirrored, extra, err := leftIn(ctx, o, s, e)
		if err = errors.Join(err, s.Close()); err != nil || mirrored && len(extra) == 0 {
			return 0, false, err
		}
	}
	s, err := OpenMirrors(o, e, "", true)
	if errors.Is(err, concordat.ErrInvalid) { // its creation was interrupted, so it has no scheme
		s, err = OpenMirrors(o, e, o.Profiler.Scheme(), true)
	}
	switch {
	case errors.Is(err, concordat.ErrLocked):
		return 0, false, nil
	case errors.Is(err, concordat.ErrCorrupt):
		rows, err := o.Asks.Mirrors(ctx)
		if err != nil || isMirrored(rows, e) {
			return 0, false, err
		}
		return 0, true, os.RemoveAll(MirrorFolder(o.Dir, e))
	case err != nil:
		return 0, false, err
	}
	mirrored, extra, err := leftIn(ctx, o, s, e)
	if err == nil && mirrored {
		if err = deleteAll(ctx, s, extra); err == nil {
			err = purgeMirrors(ctx, o, s)
		}
	}
	if err = errors.Join(err, s.Close()); err == nil && !mirrored {
		err = os.RemoveAll(MirrorFolder(o.Dir, e))
	}
	return len(extra), err == nil, err
}

// leftIn reports whether the epoch has mirrors, and returns the documents in its index that belong to none. No sync may be running.
func leftIn(ctx context.Context, o *instance.Instance, s *index.Shard, e concordat.Epoch) (mirrored bool, extra []concordat.Ref,
	err error) {
	rows, err := o.Asks.Mirrors(ctx)
	if err != nil {
		return false, nil, err
	}
	extra, err = unknownTo(ctx, o, s, e, rows)
	return isMirrored(rows, e), extra, err
}

func isMirrored(rows []store.Mirror, e concordat.Epoch) bool {
	return slices.ContainsFunc(rows, func(x store.Mirror) bool { return x.Epoch == e })
}

// purgeMirrors removes documents from the disk that are no longer in any mirror.
func purgeMirrors(ctx context.Context, o *instance.Instance, s *index.Shard) error {
	err := s.Purge(ctx)
	if err == nil {
		_, err = o.Store.Purge(ctx, true)
	}
	return err
}

// closedBy closes s and returns err joined with the error from closing. If err is nil, it does nothing.
func closedBy(s *index.Shard, err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(err, s.Close())
}

// lost reports whether the index contains fewer documents than are recorded for the mirrors of the epoch. New documents are written to
// the index first.
func lost(s *index.Shard, rows []store.Mirror, e concordat.Epoch) bool {
	n := 0
	for _, x := range rows {
		if x.Epoch == e {
			n += x.Sentences
		}
	}
	return s.Stats().Sentences < n
}

// tidyMirrors deletes the index of an epoch without mirrors.
func tidyMirrors(ctx context.Context, o *instance.Instance, e concordat.Epoch) error {
	all, err := o.Asks.Mirrors(ctx)
	if err != nil || isMirrored(all, e) {
		return err
	}
	return os.RemoveAll(MirrorFolder(o.Dir, e))
}
