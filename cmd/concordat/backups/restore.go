package backups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/concordat/clustering"
	"concordat/crypto/keyfile"
	"concordat/instance"
	"concordat/instance/backup"
	"concordat/instance/config"
	"concordat/store"
)

// The file RestoringName marks a folder into which a backup is being restored, and names the state in the backup. The store is renamed to
// its final name in the last step, so the folder is not a site before then.
const (
	RestoringName  = "restoring"
	restoredSuffix = ".restored"
)

func RestoreCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	var asNew bool
	var to string
	var open openFlags
	c := &cobra.Command{
		Use: "restore DIR", Short: "Restore the site from a backup", Args: cobra.ExactArgs(1),
		Long: `Restore copies a backup into the folder named by --data, which must be empty or absent, and compares
every file with the backup's list of hashes. After an interruption, repeat the command to continue.

An encrypted backup opens with its passphrase, which is asked for on a terminal, or with a recipient's identity
in the file named by --identity. No site is created unless every file opens and holds what was backed up.

Sessions, password links and open invitations end, and everyone must sign in again. Tokens, accounts, partners and
documents that have been removed since the backup come back: restore reminds you to remove them again. Partners that
have seen later audit entries will notice that the audit continues from an earlier one.

A store in a database is restored into an empty one. The backup of a site of several machines gives this one all
shards; run concordat cluster init to create the cluster again, and let the other machines join.

--as-new-site makes a copy of a site that keeps running: it leaves out the keys and all partners and
federations, because two sites with one identity would contradict each other.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.restore(cmd.Context(), args[0], to, asNew, open)
		},
	}
	c.Flags().StringVar(&to, "store", "",
		"where to keep the store: an empty database, as postgres://USER@HOST/DATABASE, or file (default: as in the backup's configuration)")
	open.add(c)
	c.Flags().BoolVar(&asNew, "as-new-site", false, "restore as a new site, without keys, partners or federations")
	return c
}

func (a *commands) restore(ctx context.Context, from, to string, asNew bool, open openFlags) error {
	if to != "" && to != inFile && !store.IsURL(to) {
		return cli.Usagef("--store %s: must be file, or an address such as postgres://user@host/database", to)
	}
	dir, err := a.Dir()
	if err != nil {
		return err
	}
	from, err = filepath.Abs(from)
	if err != nil {
		return err
	}
	b, err := backup.Open(from)
	if err != nil {
		return err
	}
	if err := apart(from, dir); err != nil {
		return err
	}
	if err := a.unlock(b, open); err != nil {
		return err
	}
	if err := restorePlace(dir, b.Manifest.State); err != nil {
		return err
	}
	if left, _, err := instance.FreeSpace(dir); err != nil || left < b.Manifest.Bytes {
		return errors.Join(err, fmt.Errorf("%w: the site needs %d MiB, but %s has only %d MiB free", concordat.ErrDiskFull, b.Manifest.Bytes>>20+1, dir,
			left>>20))
	}
	lock, err := instance.LockIndex(dir)
	if err != nil {
		return err
	}
	r := &restoring{a: a, b: b, dir: dir, to: to, asNew: asNew}
	err = r.run(ctx)
	if err = errors.Join(err, lock.Close()); err != nil {
		return err
	}
	return a.tellRestored(dir, b, asNew)
}

// restorePlace creates and marks the folder. It refuses a folder with any contents other than an unfinished restore of the same backup.
func restorePlace(dir, state string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	marker := filepath.Join(dir, RestoringName)
	b, err := os.ReadFile(marker)
	switch {
	case err == nil && strings.TrimSpace(string(b)) == state:
		return nil
	case err == nil:
		return cli.Usagef("%s contains an unfinished restore of another backup: empty the folder first", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "lost+found" {
			return cli.Usagef("%s is not empty (it contains %s): a restore never overwrites anything", dir, e.Name())
		}
	}
	return os.WriteFile(marker, []byte(state+"\n"), 0o600)
}

// restoring is a restore in progress.
type restoring struct {
	a     *commands
	b     *backup.Backup
	dir   string
	to    string // the location of the store; empty means as configured
	asNew bool
}

// beside returns the folder for files that are changed before they move to their final places.
func (r *restoring) beside() string { return filepath.Join(r.dir, "store"+restoredSuffix) }

func (r *restoring) run(ctx context.Context) error {
	bar := r.a.Progress(r.b.Manifest.Bytes, "restoring")
	defer bar.Done()
	progress := func(n int) error { bar.Add(n); return ctx.Err() }
	// The store and the configuration are changed after they are copied, so existing copies cannot be compared.
	if err := os.RemoveAll(r.beside()); err != nil {
		return err
	}
	if err := os.Mkdir(r.beside(), 0o700); err != nil {
		return err
	}
	aside := func(name string) bool { return name == instance.StoreName || name == instance.ConfigName }
	if err := r.b.Restore(r.beside(), aside, progress); err != nil {
		return err
	}
	keyFiles := map[string]bool{instance.KeystoreName: r.asNew, instance.KeyFileName: r.asNew, instance.LTIKeyName: r.asNew}
	if err := r.b.Restore(r.dir, func(name string) bool { return !aside(name) && !keyFiles[name] }, progress); err != nil {
		return err
	}
	if err := r.configure(); err != nil {
		return err
	}
	return r.store(ctx)
}

// configure removes the settings that made the machine a node, and sets the location of the store.
func (r *restoring) configure() error {
	path := filepath.Join(r.beside(), instance.ConfigName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the backup is missing %s", concordat.ErrCorrupt, instance.ConfigName)
	}
	if err != nil {
		return err
	}
	set := map[string]string{}
	for key, name := range clustering.NamedFiles {
		if at := filepath.Join(r.dir, name); exists(at) {
			set[key] = at
		}
	}
	secrets, err := filepath.Glob(filepath.Join(r.dir, "oidc-*-secret"))
	if err != nil {
		return err
	}
	for _, at := range secrets {
		set["login.oidc."+strings.TrimSuffix(strings.TrimPrefix(filepath.Base(at), "oidc-"), "-secret")] = at
	}
	switch r.to {
	case "":
	case inFile:
		set["store.url"], set["store.password_file"] = "", ""
	default:
		set["store.url"] = r.to
	}
	if text, err = config.ForNode(text, set); err != nil {
		return fmt.Errorf("%s: %w", instance.ConfigName, err)
	}
	return keyfile.Replace(path, text)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// store removes state that must not be restored, and moves the store and the configuration to their final places. After that, the folder
// is a site.
func (r *restoring) store(ctx context.Context) error {
	path := filepath.Join(r.beside(), instance.StoreName)
	db, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	var filled *store.DB
	if err = readyRestored(ctx, db, r.b, r.asNew); err == nil {
		filled, err = r.fill(ctx, db)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	if filled == nil {
		return r.settle(path)
	}
	err = r.settle(path)
	if err == nil { // from now on, the site may be in use, so the database must no longer look like an incomplete restore
		err = filled.SetSetting(ctx, restoredSetting, "")
	}
	return errors.Join(err, filled.Close())
}

// settle moves the store and the configuration to their final places.
func (r *restoring) settle(path string) error {
	if _, err := os.Stat(path); err == nil {
		if err := os.Rename(path, filepath.Join(r.dir, instance.StoreName)); err != nil {
			return err
		}
	}
	if err := os.Rename(filepath.Join(r.beside(), instance.ConfigName), filepath.Join(r.dir, instance.ConfigName)); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(r.beside()), os.Remove(filepath.Join(r.dir, RestoringName))); err != nil {
		return err
	}
	return syncFolder(r.dir)
}

// restoredSetting is the setting that records which state was restored into a database.
const restoredSetting = "restored state"

// fill copies the store into the configured database, if any, removes the file, and returns the database.
func (r *restoring) fill(ctx context.Context, from *store.DB) (to *store.DB, err error) {
	c, err := instance.LoadConfig(filepath.Join(r.beside(), instance.ConfigName))
	if err != nil || c.Store.URL == "" {
		return nil, err
	}
	if to, err = instance.OpenStore(ctx, r.dir, c); err != nil {
		return nil, err
	}
	if err := r.fillFrom(ctx, from, to, c); err != nil {
		return nil, errors.Join(err, to.Close())
	}
	return to, nil
}

func (r *restoring) fillFrom(ctx context.Context, from, to *store.DB, c *config.Config) error {
	state := r.b.Manifest.State
	if held, err := to.Setting(ctx, restoredSetting); err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return err
	} else if held != state { // otherwise an interrupted restore has already filled it
		if err := from.SetSetting(ctx, restoredSetting, state); err != nil {
			return err
		}
		_, err := from.CopyTo(ctx, to, store.Copy{NoFiles: true})
		if errors.Is(err, concordat.ErrExists) {
			return cli.Usagef("%s is not empty: a restore never overwrites anything; create an empty database, or name another database with --store: %w", store.Redacted(c.Store.URL), err)
		}
		if err != nil {
			return err
		}
	}
	if _, err := copyFiles(ctx, store.OpenFiles(filepath.Join(r.dir, instance.OriginalsName)), instance.Originals(r.dir, c, to),
		c.Extract.MaxInput); err != nil {
		return err
	}
	return os.Remove(filepath.Join(r.beside(), instance.StoreName))
}

func readyRestored(ctx context.Context, db *store.DB, b *backup.Backup, asNew bool) error {
	if err := db.Check(ctx); err != nil {
		return err
	}
	head, err := db.Audit.VerifyAudit(ctx)
	if err != nil {
		return err
	}
	if head.Seq != b.Manifest.Audit.Seq || head.Hash != b.Manifest.Audit.Hash {
		return fmt.Errorf("%w: the audit ends with entry %d, but the manifest says %d", concordat.ErrCorrupt, head.Seq, b.Manifest.Audit.Seq)
	}
	if err := instance.CheckBackupHead(ctx, db, b.Manifest.Audit); err != nil {
		return err
	}
	if err := db.Restored(ctx); err != nil {
		return err
	}
	if asNew {
		if err := db.LeaveFederations(ctx); err != nil {
			return err
		}
	}
	detail, err := instance.JSONLine(map[string]any{"state": b.Manifest.Made, "entry": b.Manifest.Audit.Seq, "as_new_site": asNew})
	if err != nil {
		return err
	}
	_, err = db.Audit.AppendAudit(ctx, cli.Operator(), "restored from a backup", detail)
	return err
}

// syncFolder makes renames in dir durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (a *commands) tellRestored(dir string, b *backup.Backup, asNew bool) error {
	m := &b.Manifest
	var missing []string
	for _, name := range Secrets {
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) && !m.Keys {
			missing = append(missing, name)
		}
	}
	if a.JSON {
		return a.Line(map[string]any{"site": m.Site, "dir": dir, "made": m.Made, "documents": m.Documents, "audit_entry": m.Audit.Seq,
			"as_new_site": asNew, "shards": m.Shards, "missing": append([]string{}, missing...)})
	}
	made := m.Made.Local().Format(time.DateTime)
	a.Say("restored site %s in %s to its state on %s, with %d documents", m.Site, dir, made, m.Documents)
	a.Say("all sessions, password links and open invitations have ended; everyone must sign in again")
	a.Say("everything that was removed after %s has been restored: accounts, tokens of programs, partners, documents and checks", made)
	a.Say("before you start the server, look through People, Partners and Deletions, and repeat the deletions that were lost")
	switch {
	case asNew:
		a.Say("the site has no identity for partners: create an identity with concordat site key init")
	default:
		a.Say("tell your partners that the site was restored to %s: its audit continues from entry %d, and later entries that partners have seen are lost", made, m.Audit.Seq)
		a.Say("run concordat mirror sync to fetch the mirrors again; requests that partners made before this moment will be refused once")
	}
	for _, name := range missing {
		a.Say("the backup was made without keys: copy %s into %s, if the site had this file", name, dir)
	}
	if m.Shards > 0 {
		a.Say("this machine holds all %d shards: create the cluster again with concordat cluster init, start concordat serve, let the other machines join, and run concordat cluster balance", m.Shards)
	}
	a.Say("check the restored site with concordat doctor")
	return nil
}
