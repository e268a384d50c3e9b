package program

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/cmd/concordat/backups"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/partners"
	"concordat/store"
)

func (d *doctor) path(name string) string { return filepath.Join(d.dir, name) }

// folder examines the folder and reports whether it contains a site.
func (d *doctor) folder() bool {
	if _, err := os.Stat(d.path(backups.RestoringName)); err == nil {
		d.fault("folder", "run the same concordat restore command again to continue", fmt.Errorf("a restore into %s was interrupted", d.dir))
		return false
	}
	if _, err := os.Stat(d.path(instance.ConfigName)); err == nil {
		if c, err := instance.LoadConfig(d.path(instance.ConfigName)); err != nil || c.Store.URL != "" {
			d.ok("folder", "%s", d.dir) // the configuration is examined separately, and the store is elsewhere
			d.permissions()
			return true
		}
	}
	if _, err := os.Stat(d.path(instance.StoreName)); err != nil {
		d.fault("folder", "name the folder with --data, create a site with concordat init, or restore one with concordat restore",
			instance.AbsentSite(d.dir))
		return false
	}
	d.ok("folder", "%s", d.dir)
	d.permissions()
	d.remains()
	return true
}

// permissions looks for files that other users can read or write.
func (d *doctor) permissions() {
	n := 0
	for _, name := range []string{".", instance.StoreName, instance.ConfigName, instance.KeystoreName, instance.KeyFileName,
		instance.IndexKeyName, partners.ReplaysName, instance.OriginalsName, instance.IndexName, instance.VectorsName} {
		path := d.path(name)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			d.fault("permissions", "change the owner of the folder to the user that runs the server", err)
			return
		}
		secret := slices.Contains(backups.Secrets, name) || name == instance.StoreName || name == instance.OriginalsName ||
			name == instance.IndexName || name == instance.VectorsName || name == partners.ReplaysName
		mode := info.Mode().Perm()
		if mode&0o022 == 0 && (!secret || mode&0o077 == 0) {
			continue
		}
		want := mode &^ 0o077
		n++
		d.add(finding{Check: "permissions", State: findingFault, Detail: fmt.Sprintf("%s has mode %04o: other users can read or change it", path,
			mode),
			Advice: fmt.Sprintf("chmod %04o %s", want, path), Fix: fmt.Sprintf("set the mode of %s to %04o", path, want),
			fix: func() error { return os.Chmod(path, want) }})
	}
	if n == 0 {
		d.ok("permissions", "only the site's user can read the folder")
	}
}

// remains looks for what interruptions have left behind.
func (d *doctor) remains() {
	for _, name := range []string{instance.NewIndexName, instance.OldIndexName} {
		if _, err := os.Stat(d.path(name)); err == nil {
			d.warning("remains", "stop the site and run concordat reindex again to complete the reindex", "%s was left by an interrupted reindex", name)
		}
	}
	for _, name := range []string{instance.ConfigName + ".new", instance.IndexKeyName + ".new"} {
		path := d.path(name)
		if _, err := os.Stat(path); err == nil {
			d.add(finding{Check: "remains", State: findingWarning, Detail: path + " was left by an interrupted attempt to create the site",
				Advice: "remove it", Fix: "remove " + path, fix: func() error { return os.Remove(path) }})
		}
	}
}

// config examines what the configuration refers to outside the folder.
func (d *doctor) config(c *config.Config) {
	for _, f := range []struct{ key, path string }{{"report.certificate", c.Report.Certificate}, {"report.key", c.Report.Key}} {
		if f.path == "" {
			continue
		}
		if _, err := os.Stat(f.path); err != nil {
			d.fault("config", "provide the missing file, or clear the value of "+f.key, fmt.Errorf("%s: %w", f.key, err))
		}
	}
	host, _, _ := net.SplitHostPort(c.Serve.Listen) // the configuration is already validated
	if ip := net.ParseIP(host); (host == "" || ip != nil && !ip.IsLoopback()) && !instance.OverTLS(c) {
		d.warning("config", "put an HTTPS proxy in front of the site, set serve.url, and set serve.listen to 127.0.0.1:8420",
			"the pages are served over the network at %s without https", c.Serve.Listen)
		return
	}
	d.ok("config", "%s", d.path(instance.ConfigName))
}

func (d *doctor) disk(c *config.Config) {
	left, all, err := instance.FreeSpace(d.dir)
	switch {
	case err != nil:
		d.fault("disk", "", err)
	case left < c.Serve.LowWater:
		d.fault("disk", "free some disk space: until then, the site accepts no files and starts no checks",
			fmt.Errorf("%d of %d MiB are free, which is below serve.low_water (%d MiB)", left>>20, all>>20, c.Serve.LowWater>>20))
	case left < 4*c.Serve.LowWater:
		d.warning("disk", "free some disk space before serve.low_water is reached", "%d of %d MiB are free; serve.low_water is %d MiB", left>>20,
			all>>20, c.Serve.LowWater>>20)
	default:
		d.ok("disk", "%d of %d MiB are free", left>>20, all>>20)
	}
}

func (d *doctor) store(ctx context.Context, o *instance.Instance) {
	const advice = "restore the site from a backup with concordat restore"
	if d.o.quick {
		d.ok("store", "the store can be opened and has the schema of this program")
		d.skipped("audit", "--quick")
		return
	}
	if err := o.Store.Check(ctx); err != nil {
		d.fault("store", advice, err)
	} else {
		d.ok("store", "all pages and references of the store are intact")
	}
	if _, _, err := instance.AuditEnds(ctx, o.Dir, o.Store); err != nil {
		d.fault("audit", "entries were removed, or an older store was restored: compare the audit with partners' records and with backups", err)
	} else if head, err := o.Store.Audit.VerifyAudit(ctx); err != nil {
		d.fault("audit", "a person or the disk changed the audit: keep a copy, compare it with partners' records (concordat audit verify), then restore it", err)
	} else {
		d.ok("audit", "%d entries, each of which contains the hash of the previous entry", head.Seq)
	}
}

// originals looks for originals that reports need, and verifies a sample of them against their names.
func (d *doctor) originals(ctx context.Context, o *instance.Instance) {
	if o.Config.Store.URL != "" {
		d.skipped("originals", "the originals are kept in the database")
		return
	}
	var names []string
	err := filepath.WalkDir(d.path(instance.OriginalsName), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && len(e.Name()) == 2*sha256.Size {
			names = append(names, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		d.fault("originals", "", err)
		return
	}
	all := len(names)
	rand.Shuffle(all, func(i, j int) { names[i], names[j] = names[j], names[i] })
	if d.o.sample >= 0 {
		names = names[:min(len(names), d.o.sample)]
	}
	bad := 0
	for _, path := range names {
		if ctx.Err() != nil {
			return
		}
		if got, err := hashFile(path); errors.Is(err, fs.ErrNotExist) {
			continue // deleted in the meantime
		} else if err != nil || got != filepath.Base(path) {
			bad++
			d.fault("originals", "restore the file from a backup; the report does not need this file", fmt.Errorf("%s differs from the submitted file (%v)", path, err))
		}
	}
	missing, err := d.missingOriginals(ctx, o)
	switch {
	case err != nil:
		d.fault("originals", "", err)
	case missing > 0:
		d.warning("originals", "restore the originals from a backup; reports do not need them, but waiting checks that need them will fail",
			"%d originals that checks refer to are missing", missing)
	case bad == 0:
		d.ok("originals", "%d originals; %d were read and are unchanged", all, len(names))
	}
}

func (d *doctor) missingOriginals(ctx context.Context, o *instance.Instance) (n int, err error) {
	files := store.OpenFiles(d.path(instance.OriginalsName))
	for before := int64(0); ; {
		tasks, err := o.Store.Checks.Tasks(ctx, before, 1000)
		if err != nil || len(tasks) == 0 {
			return n, err
		}
		for _, t := range tasks {
			before = t.Seq
			names, err := o.Store.Retention.Originals(ctx, t.ID)
			if err != nil {
				return n, err
			}
			for _, name := range names {
				if _, err := files.Path(name); errors.Is(err, concordat.ErrNotFound) {
					n++
				}
			}
		}
	}
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// backupAge is the age beyond which the last backup is too old.
const backupAge = 8 * 24 * time.Hour

func (d *doctor) backups(ctx context.Context, o *instance.Instance) {
	made, err := instance.LastBackup(ctx, o.Store)
	switch {
	case err != nil:
		d.fault("backup", "", err)
	case made.IsZero():
		d.skipped("backup", "no backup has been made with concordat backup")
	case d.now.Sub(made) > backupAge:
		d.warning("backup", "back up the site with concordat backup, preferably on a schedule", "the last backup was made at %s", made.Local().Format(time.DateTime))
	default:
		d.ok("backup", "the last backup was made at %s", made.Local().Format(time.DateTime))
	}
}

// clockSkew is how far the clock may lag behind its own records.
const clockSkew = 2 * time.Minute

// clock compares the clock with the site's records, because a clock that was set back assigns keys to the wrong days and extends
// sessions.
func (d *doctor) clock(ctx context.Context, o *instance.Instance) {
	head, err := o.Store.Audit.AuditHead(ctx)
	if err != nil || head.Seq == 0 {
		d.skipped("clock", "the audit is empty, so the clock cannot be compared")
		return
	}
	es, err := o.Store.Audit.Audit(ctx, head.Seq-1, 1)
	if err != nil || len(es) != 1 {
		d.fault("clock", "", fmt.Errorf("cannot read the last audit entry: %w", err))
		return
	}
	if ahead := es[0].At.Sub(d.now); ahead > clockSkew {
		d.fault("clock", "set the clock, preferably with NTP", fmt.Errorf("the clock is %s behind the last entry in the audit", ahead.Round(time.Second)))
		return
	}
	d.ok("clock", "the clock shows %s, which is later than the last audit entry", d.now.Local().Format(time.DateTime))
}

// proxies checks whether a site behind an https proxy on this machine is configured for it. Otherwise all visitors share one address and
// its limits.
func (d *doctor) proxies(c *config.Config) {
	host, _, err := net.SplitHostPort(c.Serve.Listen)
	if err != nil || !instance.OverTLS(c) || len(c.People.Proxies) > 0 {
		return
	}
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		d.warning("proxies", "set serve.trusted_proxies to the address of the proxy, such as 127.0.0.1",
			"people reach the site over https, but it listens only on this machine, so there is a proxy in between; serve.trusted_proxies is empty, so all visitors share the limits of a single address")
	}
}

// panics looks for requests or other work that panicked. Each panic is a bug, and the next one may do more harm.
func (d *doctor) panics(served *instance.Status) {
	if served.Panics > 0 {
		d.warning("panics", "look for \"panic\" records in the log of concordat serve, and report them with their stack traces",
			"%d panics in requests, checks, additions, batches or fingerprint sets since %s, the latest at %s", served.Panics, served.Started.Local().Format(time.DateTime),
			served.Panicked.Local().Format(time.DateTime))
	}
}

// ports asks the serving process for its state or, if there is none, tests whether a process could listen.
func (d *doctor) ports(ctx context.Context, c *config.Config, served *instance.Status) {
	if served != nil {
		address := served.Listen
		if host, port, err := net.SplitHostPort(address); err == nil && net.ParseIP(host).IsUnspecified() {
			address = net.JoinHostPort("localhost", port)
		}
		if err := ready(ctx, address); err != nil {
			d.fault("serve", "see the log of concordat serve", fmt.Errorf("process %d at %s: %w", served.Process, address, err))
			return
		}
		d.ok("serve", "process %d serves the site at %s and is ready", served.Process, address)
		d.panics(served)
		return
	}
	for _, l := range []struct{ key, flag, address string }{{"serve.listen", "--listen", c.Serve.Listen},
		{"serve.metrics", "", c.Serve.Metrics}, {"federation.listen", "", c.Federation.Listen}} {
		if l.address == "" {
			continue
		}
		listener, err := instance.Listen(l.key, l.flag, l.address)
		if err != nil {
			d.fault("ports", "", err)
			continue
		}
		_ = listener.Close() // this was only a test
		d.ok("ports", "%s: %s is free", l.key, l.address)
	}
	lock, err := instance.LockIndex(d.dir)
	if err != nil {
		d.warning("serve", "wait for the other process to end; if no command is running, look for a concordat serve process that hangs",
			"the server is not running, and another concordat process is using the site")
		return
	}
	_ = lock.Close() // no work was done while holding it
	d.skipped("serve", "the server is not running")
}

// ready asks a serving process whether it is ready.
func ready(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, instance.StatusTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("not ready: %s", strings.TrimSpace(string(b)))
	}
	return err
}

func (d *doctor) index(ctx context.Context, c *config.Config, served *instance.Status) {
	if c.Cluster.Coordinator != "" && served == nil {
		d.skipped("index", "this machine is one of several, and its server is not running")
		return
	}
	if c.Cluster.Coordinator == "" && instance.HoldsShards(d.dir) {
		d.warning("index", "create the cluster again with concordat cluster init", "the index was restored from a backup of a cluster")
		return
	}
	st := &instance.IndexState{}
	var err error
	if served != nil {
		err = instance.CallServing(ctx, d.dir, fmt.Sprintf("/doctor?quick=%v", d.o.quick), nil, st)
	} else if _, gone := os.Stat(d.path(filepath.Join(instance.IndexName, "00"))); errors.Is(gone, fs.ErrNotExist) {
		// Opening the index would create an empty one.
		err = d.a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
			return o.EachDocument(ctx, func(concordat.Ref) { st.Missing++ })
		})
	} else {
		err = d.a.With(ctx, instance.Locked, func(*instance.Instance) error { return nil }) // ensures that a lock is reported as such
		if err == nil {
			err = d.a.With(ctx, instance.WithIndex, func(o *instance.Instance) error {
				st, err = o.CheckIndex(ctx, d.o.quick)
				return err
			})
		}
	}
	switch {
	case errors.Is(err, concordat.ErrLocked):
		d.skipped("index", "another concordat process is using the site")
	case errors.Is(err, concordat.ErrCorrupt) && d.broken("store"):
		d.skipped("index", "the index cannot be compared with the catalogue without the store")
	case errors.Is(err, concordat.ErrScheme):
		d.fault("index", "restore "+instance.IndexKeyName+", or run concordat reindex", err)
	case err != nil:
		d.fault("index", "restore the site from a backup (concordat restore); if only the index is damaged, move the index away and add the documents again", err)
	case st.Fault != "":
		d.fault("index", "restore the site from a backup with concordat restore", errors.New(st.Fault))
	case st.Missing > 0:
		d.fault("index", "add these documents again from their files, or restore the site from a backup",
			fmt.Errorf("%d documents in the catalogue are missing from the index: %s", st.Missing, strings.Join(st.Some, ", ")))
	case st.Extra > 0:
		d.warning("index", "add these documents again, or delete them with concordat delete: an addition or a deletion was interrupted",
			"%d documents in the index are missing from the catalogue: %s", st.Extra, strings.Join(st.Some, ", "))
	default:
		d.ok("index", "%d documents, matching the catalogue; %d sentences", st.Documents, st.Sentences)
	}
	if err == nil {
		d.meaning(st)
	}
}

// meaning reports whether a reindex must be started or completed.
func (d *doctor) meaning(st *instance.IndexState) {
	const command = "run concordat reindex, which works while the server is running and continues an interrupted run"
	switch {
	case st.Disagree != "":
		d.warning("meaning", "follow the advice in the message, then run concordat reindex", "%s", st.Disagree)
	case st.MayLack > 0:
		d.warning("meaning", command, "%d documents lack meaning cells, %d more may lack them, and %d have superfluous cells",
			st.Lacking, st.MayLack, st.Superfluous)
	case st.Lacking+st.Superfluous > 0:
		d.warning("meaning", command, "%d documents lack meaning cells, and %d have superfluous cells", st.Lacking, st.Superfluous)
	case st.Stale == 0:
		d.ok("meaning", "every document has exactly the meaning cells that it should have")
	}
	if st.Stale > 0 {
		d.warning("meaning", command, "%d documents were indexed by an earlier version; once they are renewed, more translations are found",
			st.Stale)
	}
}
