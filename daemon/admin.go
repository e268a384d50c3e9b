package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/meaning/managed"
	"concordat/store"
	"concordat/view"
	"concordat/web/pages/admin"
	"concordat/web/pages/settings"
)

// machine provides the state of this process to the administration pages.
type machine struct{ s *Daemon }

// siteKeys provides the site's keys to the administration pages.
type siteKeys struct{ o *instance.Instance }

// Keys implements admin.Keystore.
func (k siteKeys) Keys(ctx context.Context) (admin.Keys, error) {
	of, err := k.o.Keys.State(ctx)
	if err != nil || !of.Made {
		return admin.Keys{}, err
	}
	return admin.Keys{Made: true, Identity: of.Site.String(), Exported: of.Exported, WantsExport: of.WantsExport()}, nil
}

// LockedRoot implements admin.Keystore.
func (k siteKeys) LockedRoot(ctx context.Context, passphrase []byte, notes ...store.AuditNote) ([]byte, error) {
	return k.o.Keys.LockedRoot(ctx, crypto.Passphrase(passphrase), notes...)
}

// PutOffRoot implements admin.Keystore.
func (k siteKeys) PutOffRoot(ctx context.Context, notes ...store.AuditNote) error {
	return k.o.Keys.PutOffRoot(ctx, notes...)
}

// webSettings returns the keys of the current configuration. If a flag sets a key, the flag is shown as the origin instead of the file. A
// value that takes effect at the next start is shown with its origin.
func webSettings(o *instance.Instance) []settings.Setting {
	var out []settings.Setting
	next := map[string]string{}
	if n := o.Live.Next(); n != nil {
		rows := map[string]config.Row{}
		for _, r := range n.Rows() {
			rows[r.Key] = r
		}
		for _, c := range config.Diff(o.Live.Now(), n) {
			if r, ok := rows[c.Key]; ok && o.Live.Flags[c.Key] == "" {
				next[c.Key] = fmt.Sprintf("; at the next start %s, %s", cmp.Or(c.New, "empty"), r.Origin)
			}
		}
	}
	keys := map[string]config.Key{}
	for _, k := range config.Keys() {
		keys[k.Name] = k
	}
	for _, r := range o.Live.Now().Rows() {
		one := settings.Setting{Setting: view.Setting{
			Key: r.Key, Value: r.Value, Origin: cmp.Or(o.Live.Flags[r.Key], r.Origin.String()) + next[r.Key], Live: r.Live}}
		if k, ok := keys[r.Key]; ok {
			one.Kind, one.Doc, one.Words, one.Least, one.Most = k.Type, k.Doc, k.Words, k.Least, k.Most
			one.Live = r.Live || k.Alone && !o.Config.Clustered()
			one.Changeable = one.Live && r.Origin.Env == "" && o.Live.Flags[r.Key] == "" && !o.Config.Clustered()
		}
		out = append(out, one)
	}
	return out
}

// Storage implements admin.Machine.
func (m machine) Storage(ctx context.Context) (admin.Storage, error) {
	s := m.s
	left, all, err := instance.FreeSpace(s.o.Dir)
	if err != nil {
		return admin.Storage{}, err
	}
	st := s.o.Stats()
	out := admin.Storage{Folder: s.o.Dir, Free: left, All: all, LowWater: s.o.Live.Now().Serve.LowWater, Documents: st.Documents,
		Sentences: st.Sentences,
		Distinct:  st.Distinct, Segments: st.Segments, Fresh: st.Fresh, TableBytes: st.TableBytes}
	sizes := map[string]int64{}
	err = filepath.WalkDir(s.o.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // files that disappear in the meantime, or cannot be read, count as empty
		}
		if info, err := e.Info(); err == nil {
			rel, _ := filepath.Rel(s.o.Dir, path) // path is below it
			sizes[instance.PartOf(rel)] += info.Size()
		}
		return nil
	})
	if err == nil && s.o.Config.Store.URL != "" { // the folder also contains the originals
		var e store.Engine
		e, err = s.o.Store.Engine(ctx)
		sizes["store"] += e.Bytes
	}
	for _, name := range []string{"index", "store", "originals", "other"} {
		out.Parts = append(out.Parts, admin.StoragePart{Name: name, Bytes: sizes[name]})
	}
	return out, err
}

// Schemes implements admin.Machine.
func (m machine) Schemes(ctx context.Context) (admin.Schemes, error) {
	s := m.s
	key, err := instance.ReadIndexKey(s.o.Dir)
	if err != nil {
		return admin.Schemes{}, err
	}
	out := admin.Schemes{Recipe: s.o.Config.Scheme, Scheme: s.o.Site.Scheme(), Keyed: key != nil}
	out.Epochs, err = s.o.Answers.Sets.EpochStates(ctx)
	return out, err
}

// Health implements admin.Machine.
func (m machine) Health(ctx context.Context) []admin.HealthPart {
	s := m.s
	ctx, cancel := context.WithTimeout(ctx, instance.StatusTime)
	defer cancel()
	libraries, err := s.o.Store.Catalogue.Libraries(ctx)
	out := []admin.HealthPart{part("store", err), s.indexFits(ctx, libraries), s.diskFits(), s.auditFits(ctx), s.partnersFit(ctx)}
	if e, ok := s.o.Encoding.Current().(*managed.Encoder); ok {
		out = append(out, encoderFits(e.Status()))
	}
	if s.Partners.Load() != nil {
		out = append(out, s.cardFits(ctx), part("epochs", s.epochsFit(ctx)))
	}
	return out
}

// part returns the state of an examined part, with its fault, if any.
func part(code string, err error) admin.HealthPart {
	if err != nil {
		return admin.HealthPart{Code: code, Detail: err.Error()}
	}
	return admin.HealthPart{Code: code, OK: true}
}

// indexFits compares the index with the catalogue. A document enters the index first, so the index may briefly contain more documents
// than the catalogue, but never fewer.
func (s *Daemon) indexFits(ctx context.Context, libraries []store.Library) admin.HealthPart {
	if err := instance.NothingAside(s.o.Dir); err != nil {
		return part("index", err)
	}
	all := 0
	for _, l := range libraries {
		all += l.Documents
	}
	n, err := s.o.IndexDocuments(ctx)
	switch {
	case err != nil:
		return part("index", err)
	case n < all:
		return admin.Told("index", false, "health.index.less", n, all)
	}
	return admin.Told("index", true, "health.index.all", all)
}

// encoderFits reports the state of the site's own encoder. An encoder that has not been needed yet counts as working.
func encoderFits(s managed.Status) admin.HealthPart {
	switch s.Phase {
	case managed.Failed:
		return admin.Told("encoder", false, "health.encoder.failed", s.Err)
	case managed.Ready:
		return admin.Told("encoder", true, "health.encoder.ready", s.Restarts)
	}
	return admin.Told("encoder", true, "health.encoder.starting")
}

func (s *Daemon) diskFits() admin.HealthPart {
	left, all, err := instance.FreeSpace(s.o.Dir)
	switch err = cmp.Or(err, s.o.CheckDisk()); {
	case errors.Is(err, concordat.ErrDiskFull):
		return admin.Told("disk", false, "health.disk.low", left>>20, s.o.Live.Now().Serve.LowWater>>20)
	case err != nil:
		return part("disk", err)
	}
	if left >= 10<<30 {
		return admin.Told("disk", true, "health.disk.ample", left>>30, all>>30)
	}
	return admin.Told("disk", true, "health.disk.left", left>>20, all>>20)
}

// auditFits compares the end of the audit with the signed end. An administrator can record the hash of the signed end elsewhere.
func (s *Daemon) auditFits(ctx context.Context) admin.HealthPart {
	end, kept, err := instance.AuditEnds(ctx, s.o.Dir, s.o.Store)
	switch {
	case errors.Is(err, concordat.ErrCorrupt):
		return admin.Told("audit", false, "health.audit.missing", end.Seq, kept.Seq)
	case err != nil:
		return part("audit", err)
	case kept.Seq == 0:
		return admin.Told("audit", true, "health.audit.unsigned", end.Seq)
	}
	return admin.Told("audit", true, "health.audit.kept", end.Seq, kept.Seq, kept.Hash)
}

func (s *Daemon) partnersFit(ctx context.Context) admin.HealthPart {
	if p := s.Partners.Load(); p != nil {
		return admin.HealthPart{Code: "partners", OK: true, Detail: p.Address}
	}
	ps, err := s.o.Store.Partners.Partners(ctx)
	for _, p := range ps {
		if p.State == store.PartnerActive {
			return admin.Told("partners", false, "health.partners.closed")
		}
	}
	if err != nil {
		return part("partners", err)
	}
	return admin.Told("partners", true, "health.partners.none")
}

func (s *Daemon) cardFits(ctx context.Context) admin.HealthPart {
	id, _ := s.Partners.Load().Self()
	card, err := instance.OwnCard(ctx, s.o.Store, id)
	until, err := instance.CardState(card, err, time.Now())
	var ends instance.CardEndsError
	switch {
	case errors.Is(err, instance.ErrNoCard):
		return admin.Told("card", false, "health.card.none")
	case errors.As(err, &ends):
		return admin.Told("card", false, "health.card.ends", ends.On)
	case err != nil:
		return part("card", err)
	}
	return admin.Told("card", true, "health.card.until", until)
}

func (s *Daemon) epochsFit(ctx context.Context) error {
	states, err := s.o.Answers.Sets.EpochStates(ctx)
	if err != nil {
		return err
	}
	var behind []string
	for _, e := range states {
		for _, l := range e.Libraries {
			if !e.Retired && l.Held < l.Documents {
				behind = append(behind, fmt.Sprintf("%s %s: %d/%d", e.Epoch, l.Library, l.Held, l.Documents))
			}
		}
	}
	if len(behind) > 0 {
		return errors.New(strings.Join(behind, "; "))
	}
	return nil
}
