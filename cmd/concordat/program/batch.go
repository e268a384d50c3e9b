package program

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/tables"
	"concordat/extract/sandbox"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
)

// cliRunner identifies the command line as a runner of batches.
const cliRunner = "command"

type batchCheckFlags struct {
	checkFlags
	manifest, resume string
	alone            bool
}

func (a *app) batchCommand() *cobra.Command {
	var f batchCheckFlags
	c := &cobra.Command{
		Use:   "batch PATH...",
		Short: "Compare the documents of a batch with one another and with the libraries",
		Long: `Batch compares each file with every other, in any order, and with the libraries of this site. Both documents of
a pair show each other in their reports. Pairs that reach --threshold form clusters. The overview page, tables
and reports go to the folder named by --out.

Pairs by the same author or group, and pairs of a draft and its final version, are shown but do not count. Declare
them in a manifest: a table (CSV or tab-separated) whose first line names its columns: file and any of title,
author, group, draft_of and date. See concordat batch lineage and concordat batch pair.

After an interruption, repeat the command to continue. Unreadable files are reported with a reason, and the
batch continues without them (exit code 3).`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && f.resume == "" {
				return cli.Usagef("name at least one file or folder")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.validate(cmd.Flags()); err != nil {
				return err
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error { return a.batch(cmd.Context(), o, args, &f) })
		},
	}
	fl := c.Flags()
	fl.StringArrayVarP(&f.libraries, "library", "l", nil, "library to compare the documents with (repeatable; default all)")
	fl.BoolVar(&f.alone, "no-libraries", false, "compare the documents only with one another")
	fl.StringArrayVar(&f.partners, "partner", nil, "partner site to ask, by name or identity: SITE, SITE/LIBRARY or all (repeatable)")
	fl.StringVar(&f.level, "level", string(concordat.ShowMetadata), "maximum detail to request from partners: exists, counts or metadata")
	fl.StringVar(&f.purpose, "purpose", "", "purpose to state to partners: a word that the federation has agreed on, such as thesis")
	fl.StringVar(&f.forward, "forward", "", "sentences to ask partner sites about: unmatched, all or none (default: configuration)")
	fl.DurationVar(&f.deadline, "deadline", site.DefaultDeadline, "time limit for each partner and document")
	fl.BoolVar(&f.noMirrors, "no-mirrors", false, "do not compare with mirrors of partners' libraries (see concordat mirror)")
	fl.StringArrayVar(&f.templates, "template", nil,
		"name of the section template, or a file in any format whose wording does not count, such as an application form (repeatable)")
	fl.StringVar(&f.manifest, "manifest", "", "table that describes the files, with the columns file, title, author, group, draft_of and date")
	fl.StringVar(&f.channel, "channel", "both", "how candidate documents are found: both, fingerprints (fastest) or text")
	fl.IntVar(&f.candidates, "candidates", 0,
		"maximum number of documents to compare word by word with each document of the batch (default 200)")
	fl.BoolVar(&f.exact, "exact", false, "look up only exact fingerprint bands: faster, but misses more edited text")
	fl.Float64Var(&f.threshold, "threshold", 0, "list pairs that have at least this share of either document in common (default: configuration, 0.3)")
	fl.BoolVar(&f.leads, "leads", false, "also look for paraphrased passages, which are not counted in the shares (default: configuration)")
	fl.Float64Var(&f.failOn, "fail-on", 0, "exit with status 4 if the share of a counted pair, or of one of its sections, reaches this value")
	fl.BoolVar(&f.complete, "require-complete", false, "exit with status 5 if a partner or shard did not answer")
	fl.StringVarP(&f.out.out, "out", "o", "", "folder for the overview page, tables and reports (default: a folder inside the site's folder)")
	addLanguage(fl, &f.out.language)
	fl.StringVar(&f.resume, "resume", "", "resume this batch (see concordat batch list), even if it was cancelled")
	f.rules.add(fl)
	c.AddCommand(a.batchTools()...)
	return c
}

// batch runs the command.
func (a *app) batch(ctx context.Context, o *instance.Instance, paths []string, f *batchCheckFlags) error {
	if f.alone && len(f.libraries) > 0 {
		return cli.Usagef("--no-libraries and --library cannot be combined")
	}
	options, err := f.options(ctx, a, o)
	if err != nil {
		return err
	}
	rules, err := f.rules.rules(ctx, a, o)
	if err != nil {
		return err
	}
	b, err := a.startBatch(ctx, o, paths, f, options, rules)
	if err != nil {
		return err
	}
	busy, end, err := f.comparison().AddTo(ctx, &options, o, a.PartnerOptions(o))
	if err != nil {
		return err
	}
	defer end()
	shard, err := o.BatchFolders().OpenIndex(b.ID)
	if err != nil {
		return err
	}
	r := instance.NewReader(instance.Extraction(o.Config), len(paths))
	fails := &batchFailures{failures: failures{a: a}}
	err = batch.Run(ctx, o.Site, b.ID, batch.Options{
		Store: o.Store, Index: shard, Rules: rules, Progress: a.batchProgress(),
		Read: func(ctx context.Context, in store.BatchInput) ([]site.Item, error) {
			items, err := r.Read(ctx, concordat.UnescapeName(in.Place))
			return asItems(items), err
		},
		Options: func(context.Context, batch.Job) (site.CheckOptions, func(), error) { return options, nil, nil },
		Failed:  fails.add,
	})
	if err = errors.Join(err, r.Close(), shard.Close(), fails.err); err != nil {
		if errors.Is(err, store.ErrLease) {
			return fmt.Errorf("batch %s was cancelled; resume it with concordat batch --resume %s", b.ID, b.ID)
		}
		return err
	}
	w := batchWriter{a: a, o: o, rules: rules, dir: cmp.Or(f.out.out, filepath.Join(o.Dir, instance.BatchesName, b.ID, instance.BatchOut))}
	if w.language, err = instance.Language(o.Config, f.out.language); err != nil {
		return err
	}
	if err := w.open(ctx, b.ID); err != nil {
		return err
	}
	if err := w.write(ctx); err != nil {
		return err
	}
	if err := w.tell(); err != nil {
		return err
	}
	return f.exit(w.v, busy)
}

// exit returns the command's final error, or nil.
func (f *batchCheckFlags) exit(v *batch.View, busy bool) error {
	incomplete := busy
	for _, m := range v.Members {
		incomplete = incomplete || m.Incomplete
	}
	if f.failOn > 0 && slices.ContainsFunc(v.Pairs, func(p batch.ViewedPair) bool { return p.Counted() && v.Reaches(p, f.failOn) }) {
		return &cli.Exit{Code: cli.Threshold}
	}
	if incomplete && f.complete {
		return &cli.Exit{Code: cli.Incomplete, Err: errors.New("a partner or shard did not answer")}
	}
	if len(v.Unread()) > 0 {
		return &cli.Exit{Code: cli.Unreadable}
	}
	return nil
}

// asItems converts extraction results.
func asItems(in []sandbox.Item) []site.Item {
	var out []site.Item
	for _, item := range in {
		one := site.Item{Submission: site.Submission{ID: concordat.DocumentID(item.Path)}, LeftOut: item.LeftOut}
		if item.Err != nil {
			one.Err = errors.New(failed("", item.Err).reason())
		} else {
			one.Title, one.Text, one.Author = item.Result.Title, item.Result.Text, item.Result.Author
			one.Flags = instance.FlagsOf(item.Result.Flags)
			one.Dated, one.DatedBy = instance.DateOf("", item.Result)
			one.Timed = instance.TimeOf(one.DatedBy, item.Result)
		}
		out = append(out, one)
	}
	return out
}

// reason returns the cause of the failure, without the path.
func (f failure) reason() string {
	f.Path = ""
	return strings.TrimPrefix(f.String(), ": ")
}

// batchFailures reports unreadable files as they arrive, from several goroutines.
type batchFailures struct {
	failures
	mu  sync.Mutex // protects the following fields
	err error
}

func (f *batchFailures) add(name, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	code, detail, _ := strings.Cut(reason, ": ")
	f.err = errors.Join(f.err, f.failures.add(failure{Type: "error", Path: name, Code: code, Detail: detail}))
}

// startBatch returns the batch to work on: the one in --resume, the unfinished one for the same input and options, or a new one.
func (a *app) startBatch(ctx context.Context, o *instance.Instance, paths []string, f *batchCheckFlags, options site.CheckOptions,
	rules report.Rules) (store.Batch, error) {
	if f.resume != "" {
		b, err := findBatch(ctx, o, f.resume)
		if err == nil && f.rules.given() {
			err = cli.Usagef("--resume cannot change the rules of batch %s: omit the rule flags, or use them with concordat report export", b.ID)
		}
		if err == nil {
			err = o.Store.Batches.ReopenBatch(ctx, b.ID, cliRunner, false)
		}
		return b, err
	}
	files, leftOut, err := walk(paths, false)
	if err != nil {
		return store.Batch{}, err
	}
	if err := (&failures{a: a, leftOut: leftOut}).tellLeftOut(); err != nil {
		return store.Batch{}, err
	}
	if len(files) == 0 {
		return store.Batch{}, cli.Usagef("no files found in %s", strings.Join(paths, ", "))
	}
	leads := o.Config.Meaning.Batches == config.LeadsOn
	if f.leadsGiven {
		leads = f.leads
	}
	job := batch.Job{Libraries: options.Libraries, NoLibraries: f.alone, Forward: options.Forward, Purpose: f.purpose,
		Exact: options.Exact, Threshold: options.Threshold, Channel: options.Channel, Candidates: options.Candidates,
		Leads: leads, Rules: &rules}
	for _, p := range f.partners {
		job.Partners = append(job.Partners, concordat.SiteID(p))
	}
	switch {
	case options.Template != nil:
		job.Template = options.Template.Name
	case len(f.templates) > 0:
		job.Template = instance.NoTemplate
	}
	if f.manifest != "" {
		if job.Manifest, err = readManifest(f.manifest); err != nil {
			return store.Batch{}, err
		}
	}
	inputs, work, err := batchInputs(files, job)
	if err != nil {
		return store.Batch{}, err
	}
	b, err := o.Store.Batches.BatchOfWork(ctx, work)
	if err == nil {
		a.Warn("resuming batch %s", b.ID)
	}
	if !errors.Is(err, concordat.ErrNotFound) {
		return b, err
	}
	if b, err = batch.New(filepath.Base(tables.Absolute(paths[0])), "", cliRunner, job, time.Now()); err != nil {
		return b, err
	}
	b.Work = work
	return b, o.Store.Batches.CreateBatch(ctx, b, inputs)
}

func readManifest(path string) ([]batch.ManifestLine, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, cli.Usage(err)
	}
	lines, err := batch.ParseManifest(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, cli.Usagef("--manifest %s: %w", path, err)
	}
	return lines, nil
}

// batchInputs returns the files of a batch in order of name, and a hash that identifies the run; the same files and options, in any
// order, have the same hash.
func batchInputs(files []input, job batch.Job) ([]store.BatchInput, string, error) {
	slices.SortStableFunc(files, func(a, b input) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(tables.Absolute(a.path), tables.Absolute(b.path)))
	})
	h := sha256.New()
	data, err := json.Marshal(job)
	if err != nil {
		return nil, "", err
	}
	fmt.Fprintf(h, "%s\n", data)
	var out []store.BatchInput
	for i, f := range files {
		if i > 0 && tables.Absolute(f.path) == tables.Absolute(files[i-1].path) {
			continue // named twice
		}
		fmt.Fprintf(h, "%q %d %d\n", tables.Absolute(f.path), f.size, f.modified.UnixNano())
		out = append(out, store.BatchInput{Name: f.name, Place: f.place()})
	}
	batch.UniqueNames(out)
	return out, hex.EncodeToString(h.Sum(nil)), nil
}

// batchStages maps each stage to its description for users.
var batchStages = map[string]string{batch.StageRead: "reading", batch.StageCompare: "comparing documents with one another",
	batch.StageLeads: "looking for leads", batch.StageCheck: "checking against libraries"}

// batchProgress shows each stage on stderr: on a terminal as a bar, otherwise as a line at the beginning and at the end.
func (a *app) batchProgress() func(stage string, done, total int) {
	var mu sync.Mutex
	var now string
	var b cli.Bar
	return func(stage string, done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if stage != now {
			b.Done()
			now, b = stage, a.Progress(int64(total), batchStages[stage])
			if !b.Shown() && !a.Quiet {
				a.Warn("%s: %d of %d done", batchStages[stage], done, total)
			}
		}
		b.Set(done)
		switch {
		case done < total:
		case b.Shown():
			b.Done()
		case !a.Quiet && total > 0:
			a.Warn("%s: %d of %d done", batchStages[stage], done, total)
		}
	}
}
