package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/cluster/wal"
	"concordat/index"
)

// A copy that is damaged, or has records that its master lacks, is never replaced in place; its folder is renamed and kept until an
// operator has examined it.

const (
	asideInfix = ".aside-"    // NN.aside-1, NN.aside-2 and so on
	asideName  = "aside.json" // file in such a folder
	maxAside   = 64 << 10
	// mostAsides is the maximum number of such folders per shard, so that a disk that keeps damaging copies does not fill up with them.
	mostAsides = 8
)

// Aside is a copy that was put aside.
type Aside struct {
	Shard  concordat.ShardID `json:"shard"`
	Folder string            `json:"folder"`
	Reason string            `json:"reason"`
	Time   time.Time         `json:"time"`
}

// putAside durably renames the shard's copy in a node's folder of copies, and records the reason in it.
func putAside(log *slog.Logger, root string, id concordat.ShardID, reason string) error {
	dir := filepath.Join(root, string(id))
	a := Aside{Shard: id, Reason: reason, Time: time.Now().UTC()}
	for i := 1; ; i++ {
		if i > mostAsides {
			return fmt.Errorf("shard %s: %d copies have already been put aside, so this copy was not put aside (%s): check the disk, then remove the old copies (concordat cluster salvage): %w",
				id, mostAsides, reason, concordat.ErrRefused)
		}
		if a.Folder = dir + asideInfix + strconv.Itoa(i); !exists(a.Folder) {
			break
		}
	}
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(dir, asideName), append(b, '\n')); err != nil {
		return err
	}
	err = errors.Join(os.RemoveAll(snapshotDir(dir)), os.Rename(dir, a.Folder), syncDir(root))
	if err == nil {
		log.Error("the copy was put aside and will be replaced from the master's (concordat cluster salvage)", "shard", id, "reason", reason,
			"folder", a.Folder)
	}
	return err
}

// Asides returns the copies put aside in a node's folder of copies, in order.
func Asides(root string) ([]Aside, error) {
	es, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Aside
	for _, e := range es {
		id, _, ok := strings.Cut(e.Name(), asideInfix)
		if _, known := shardNumber(concordat.ShardID(id)); !ok || !known || !e.IsDir() {
			continue
		}
		a := Aside{Shard: concordat.ShardID(id), Reason: "unknown"}
		b, err := os.ReadFile(filepath.Join(root, e.Name(), asideName))
		if err == nil && len(b) <= maxAside {
			_ = json.Unmarshal(b, &a) // show the copy even if its reason cannot be read
		}
		a.Folder = filepath.Join(root, e.Name())
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b Aside) int { return strings.Compare(a.Folder, b.Folder) })
	return out, nil
}

// Documents calls each with every document of the copy, whether it is in the index or has reached only the log. Calling Documents again
// yields the same documents. Errors: the errors of index.Open, wal.Open and each.
func (a Aside) Documents(ctx context.Context, site concordat.SiteID, each func(*concordat.Document) error) (err error) {
	tail, err := a.tail(site)
	if err != nil {
		return err
	}
	ix, err := index.Open(a.Folder, index.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	at := ix.Applied().Seq
	for d, err := range ix.Documents(ctx) {
		if err != nil {
			return err
		}
		ref := concordat.Ref{Site: site, Library: d.Library, Document: d.ID}
		if last, ok := tail[ref]; ok && last.seq > at {
			continue
		}
		if err := each(d); err != nil {
			return err
		}
	}
	for _, last := range tail {
		if last.put == nil || last.seq <= at {
			continue
		}
		if err := each(&last.put.Document); err != nil {
			return err
		}
	}
	return nil
}

// logged is the last record of a document.
type logged struct {
	seq uint64
	put *concordat.Profile // nil if deleted
}

// tail returns the last record in the copy's log for each document.
func (a Aside) tail(site concordat.SiteID) (map[concordat.Ref]logged, error) {
	out := map[concordat.Ref]logged{}
	dir := filepath.Join(a.Folder, logName)
	if !exists(dir) {
		return out, nil
	}
	log, err := wal.Open(dir, wal.Options{Shard: a.Shard, LowWater: 1, Damaged: func(uint64) error { return nil }})
	if err != nil {
		return nil, err
	}
	x := log.Extent()
	for seq := x.Base + 1; seq <= x.End && err == nil; {
		var records []wal.Record
		if records, err = log.Read(seq, readAhead); len(records) == 0 {
			break
		}
		for i := range records {
			c, ok, cerr := change(&records[i], site)
			if cerr != nil {
				return nil, errors.Join(cerr, log.Close())
			}
			ref := c.Delete
			if c.Put != nil {
				ref = concordat.Ref{Site: site, Library: c.Put.Document.Library, Document: c.Put.Document.ID}
			}
			if ok {
				out[ref] = logged{records[i].Seq, c.Put}
			}
		}
		seq += uint64(len(records))
	}
	return out, errors.Join(err, log.Close())
}
