package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/bench"
	"concordat/profile"
	"concordat/store"
)

func (a *app) benchWeb() *cobra.Command {
	var o bench.WebOptions
	var officers int
	c := &cobra.Command{Use: "web", Short: "Put the pages of a serving process under load: processor time of a page", Args: cobra.NoArgs,
		Long: `Web makes a site of made-up text, serves it on loopback with a process of its own, and asks for pages
as many people at once, first with nothing else to do, and last while files are handed in and every
one of them follows a check. The processor time is that of the serving process alone, checks included.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if officers < 1 || officers > 10_000 || o.Documents < 1 || o.Documents > 1000 || o.Checks < 1 || o.Checks > 1000 || o.Rounds < 1 || o.Uploaders < 0 || o.Uploads < 0 || o.Sentences < 42 {
				return usagef("--officers and --rounds must be at least 1, --documents and --checks 1 to 1000, --sentences at least 42")
			}
			return scratch(func(dir string) error {
				return a.benchPages(cmd.Context(), filepath.Join(dir, "site"), officers, o)
			})
		}}
	f := c.Flags()
	f.IntVar(&officers, "officers", 100, "people who ask at once")
	f.IntVar(&o.Documents, "documents", 200, "documents of the library")
	f.IntVar(&o.Sentences, "sentences", 200, "sentences of each document and submission, 21 words each")
	f.IntVar(&o.Checks, "checks", 60, "checks that are done when it begins")
	f.IntVar(&o.Rounds, "rounds", 10, "times that each of them asks for each page")
	f.IntVar(&o.Uploaders, "uploaders", 20, "who hand in at once")
	f.IntVar(&o.Uploads, "uploads", 5, "files that each of them hands in, one after the other")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the text")
	return c
}

// benchSession is how long the sessions of a bench last.
const benchSession = time.Hour

// benchPages makes a site, serves it and puts it under load.
func (a *app) benchPages(ctx context.Context, dir string, officers int, o bench.WebOptions) (err error) {
	if _, err := makeSite(ctx, dir, "bench", "", profile.Natural, "", false); err != nil {
		return err
	}
	db, err := store.Open(ctx, filepath.Join(dir, storeName))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if o.Sessions, err = benchPeople(ctx, db, officers); err != nil {
		return err
	}
	o.Library, o.Cookie = firstLibrary, "session"
	if err := db.CreateLibrary(ctx, store.Library{ID: o.Library, Created: time.Now()}); err != nil {
		return err
	}
	o.Open = func(ctx context.Context) (int, error) {
		n, err := db.TaskCounts(ctx)
		return n[concordat.TaskQueued] + n[concordat.TaskRunning], err
	}
	address, process, stop, err := benchServe(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	o.Base, o.Process = "http://"+address, process
	return bench.Web(ctx, o, func(r bench.WebResult) error {
		err := a.figure("Web", r, "%-26s %5d requests, %d errors %s: %.2f ms CPU each (%.1f s in %.1f s), p50 %.0f ms, p99 %.0f ms; memory %.0f MB, at most %.0f MB",
			r.Page, r.Requests, r.Errors, r.First, r.CPU, r.Total, r.Took, r.P50, r.P99, r.Memory, r.Peak)
		if err == nil && r.Uploads > 0 {
			a.say("  %d uploads taken, at most %d checks open, %d checks done, %d events", r.Uploads, r.Open, r.Checked, r.Events)
		}
		return err
	})
}

// benchPeople makes officers and signs them in.
func benchPeople(ctx context.Context, db *store.DB, n int) ([]string, error) {
	now := time.Now()
	var out []string
	for i := range n {
		name, secret := fmt.Sprintf("officer-%d", i+1), rand.Text()
		if err := db.CreateAccount(ctx, store.Account{Name: name, Role: store.RoleOfficer, Created: now}); err != nil {
			return nil, err
		}
		if err := db.PutToken(ctx, secret, store.Token{Purpose: store.PurposeSession, Account: name, Made: now, Expires: now.Add(benchSession)}); err != nil {
			return nil, err
		}
		out = append(out, secret)
	}
	return out, nil
}

// benchServe serves the site in dir by a process of its own, until stop ends it.
func benchServe(ctx context.Context, dir string) (address string, process int, stop func() error, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", 0, nil, err
	}
	log, err := os.Create(filepath.Join(dir, "serve.log"))
	if err != nil {
		return "", 0, nil, err
	}
	c := exec.Command(program, "--data", dir, "serve", "--listen", "127.0.0.1:0")
	c.Stderr = log
	if err := c.Start(); err != nil {
		return "", 0, nil, errors.Join(err, log.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	stop = func() error {
		if err := c.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return errors.Join(<-ended, log.Close())
	}
	for {
		if st, err := serving(ctx, dir); err == nil && st.Process == c.Process.Pid {
			return st.Listen, st.Process, stop, nil
		}
		select {
		case <-ctx.Done():
			return "", 0, nil, errors.Join(ctx.Err(), stop())
		case err := <-ended:
			words, _ := os.ReadFile(log.Name())
			return "", 0, nil, fmt.Errorf("serve has ended: %w\n%s", errors.Join(err, log.Close()), words)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
