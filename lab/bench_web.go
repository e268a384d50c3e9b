package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/lab/bench"
	"concordat/store"
)

func (l *lab) benchWeb() *cobra.Command {
	var o bench.WebOptions
	var officers int
	var program string
	c := &cobra.Command{Use: "web", Short: "Load-test the pages of a server", Args: cobra.NoArgs,
		Long: `Web creates a site of generated text, serves it on loopback in a separate process, and requests pages
like many people at the same time: first with no other load, and last while files are being submitted and
each person follows a check. Only the server's processor time is measured, including checks.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if officers < 1 || officers > 10_000 || o.Documents < 1 || o.Documents > 1000 || o.Checks < 1 || o.Checks > 1000 || o.Rounds < 1 ||
				o.Uploaders < 0 || o.Uploads < 0 || o.Sentences < 42 {
				return cli.Usagef("--officers and --rounds must be at least 1, --documents and --checks must be 1 to 1000, and --sentences must be at least 42")
			}
			program, err := concordatProgram(program)
			if err != nil {
				return err
			}
			return scratch(func(dir string) error {
				return l.benchPages(cmd.Context(), program, filepath.Join(dir, "site"), officers, o)
			})
		}}
	f := c.Flags()
	f.StringVar(&program, "program", "", "concordat program to run as the server (default: next to this program, otherwise in PATH)")
	f.IntVar(&officers, "officers", 100, "number of people who request pages at the same time")
	f.IntVar(&o.Documents, "documents", 200, "number of documents in the library")
	f.IntVar(&o.Sentences, "sentences", 200, "number of 21-word sentences in each document and submission")
	f.IntVar(&o.Checks, "checks", 60, "number of checks completed before the measurement begins")
	f.IntVar(&o.Rounds, "rounds", 10, "number of times that each person requests each page")
	f.IntVar(&o.Uploaders, "uploaders", 20, "number of people who submit files at the same time")
	f.IntVar(&o.Uploads, "uploads", 5, "number of files that each uploader submits, one after another")
	f.Uint64Var(&o.Seed, "seed", 1, "seed for the generated text")
	return c
}

// benchSession is the duration of a benchmark's sessions.
const benchSession = time.Hour

// benchPages creates a site, serves it and puts it under load.
func (l *lab) benchPages(ctx context.Context, program, dir string, officers int, o bench.WebOptions) (err error) {
	create := exec.CommandContext(ctx, program, "--quiet", "init", "--site", "bench", dir)
	if out, err := create.CombinedOutput(); err != nil {
		return fmt.Errorf("create a site: %w\n%s", err, out)
	}
	db, err := store.Open(ctx, filepath.Join(dir, "site.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if o.Sessions, err = benchPeople(ctx, db, officers); err != nil {
		return err
	}
	o.Library, o.Cookie = "library", "session"
	if err := db.Catalogue.CreateLibrary(ctx, store.Library{ID: o.Library, Created: time.Now()}); err != nil {
		return err
	}
	o.Open = func(ctx context.Context) (int, error) {
		n, err := db.Checks.TaskCounts(ctx)
		return n[concordat.TaskQueued] + n[concordat.TaskRunning], err
	}
	address, process, stop, err := benchServe(ctx, program, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	o.Base, o.Process = "http://"+address, process
	return bench.Web(ctx, o, func(r bench.WebResult) error {
		err := l.figure("Web", r,
			"%-26s %5d requests, %d errors %s: %.2f ms CPU per request (%.1f CPU s in %.1f s), p50 %.0f ms, p99 %.0f ms; memory %.0f MB, peak %.0f MB",
			r.Page, r.Requests, r.Errors, r.First, r.CPU, r.Total, r.Took, r.P50, r.P99, r.Memory, r.Peak)
		if err == nil && r.Uploads > 0 {
			l.Say("  %d uploads accepted, at most %d checks open, %d checks done, %d events", r.Uploads, r.Open, r.Checked, r.Events)
		}
		return err
	})
}

// benchPeople creates officers and signs them in.
func benchPeople(ctx context.Context, db *store.DB, n int) ([]string, error) {
	now := time.Now()
	var out []string
	for i := range n {
		name, secret := fmt.Sprintf("officer-%d", i+1), rand.Text()
		if err := db.People.CreateAccount(ctx, store.Account{Name: name, Role: store.RoleOfficer, Created: now}); err != nil {
			return nil, err
		}
		if err := db.People.PutToken(ctx, secret, store.Token{Purpose: store.PurposeSession, Account: name, Made: now,
			Expires: now.Add(benchSession)}); err != nil {
			return nil, err
		}
		out = append(out, secret)
	}
	return out, nil
}

// benchServe serves the site in dir in a separate process until stop ends it.
func benchServe(ctx context.Context, program, dir string) (address string, process int, stop func() error, err error) {
	log, err := os.Create(filepath.Join(dir, "serve.log"))
	if err != nil {
		return "", 0, nil, err
	}
	c := exec.Command(program, "--json", "--data", dir, "serve", "--no-create", "--listen", "127.0.0.1:0")
	c.Stderr = log
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return "", 0, nil, errors.Join(err, log.Close())
	}
	stop = func() error {
		err := c.Process.Signal(os.Interrupt)
		if errors.Is(err, os.ErrProcessDone) {
			err = nil
		}
		return errors.Join(err, c.Wait(), log.Close())
	}
	kill := context.AfterFunc(ctx, func() { _ = c.Process.Kill() }) // ends the wait for the first line
	var serving struct {
		Listen  string `json:"listen"`
		Process int    `json:"process"`
	}
	err = json.NewDecoder(io.LimitReader(out, 1<<20)).Decode(&serving) // it prints its address once it is serving
	if !kill() || err != nil {
		err = errors.Join(context.Cause(ctx), err, c.Process.Kill(), c.Wait(), log.Close())
		words, _ := os.ReadFile(log.Name())
		return "", 0, nil, fmt.Errorf("the server exited: %w\n%s", err, words)
	}
	return serving.Listen, serving.Process, stop, nil
}

// concordatProgram returns the path of the program to measure: the given one, the one next to this program, or the one in PATH.
func concordatProgram(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(own), "concordat")
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	if path, err := exec.LookPath("concordat"); err == nil {
		return path, nil
	}
	return "", cli.Usagef("no concordat program next to this one or in PATH: specify its path with --program")
}
