package program

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/parallel"
	"concordat/instance"
	"concordat/instance/signing"
	"concordat/report"
	"concordat/site"
)

// checker is a single run of check.
type checker struct {
	a        *app
	o        *instance.Instance
	f        *checkFlags
	options  site.CheckOptions
	rules    report.Rules
	language report.Language
	shown    report.LeadFilter
	called   report.Names    // display names of sites and libraries
	several  bool            // reports are written to a folder
	names    map[string]bool // the names of the reports written there
	checked  map[string]bool // names of submissions; used only by submissionID, in another goroutine
	failures failures
	leftOut  atomic.Int64 // number of hidden, lock and system files in archives

	reached, incomplete bool
}

// submitted is a submission to check.
type submitted struct {
	site.Submission
	name   string // the name of its report, if reports go to a folder
	amid   bool   // more submissions from the same file follow
	alone  bool   // this is the only submission of the run
	report *report.Report
	failed *failure // the reason why there is no text
	err    error    // an error that ends the command
}

// all checks every file, and every member of each archive. It reads and checks ahead on all cores, but writes the reports in order.
func (c *checker) all(ctx context.Context, r *instance.Reader, files []input) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := c.a.Progress(int64(len(files)), "checking")
	defer b.Done()
	texts := parallel.Ahead(ctx, slices.Values(files), func(ctx context.Context, f input) extracted {
		items, err := readInput(ctx, r, f)
		return extracted{f, items, err}
	})
	for s := range parallel.Ahead(ctx, c.submissions(texts, len(files)), func(ctx context.Context,
		s submitted) submitted {
		return c.check(ctx, s, b)
	}) {
		if err := c.give(s); err != nil {
			cancel() // releases submissions that wait for one another
			return err
		}
		if !s.amid && !s.alone {
			b.Add(1)
		}
	}
	c.failures.leftOut += int(c.leftOut.Load())
	return context.Cause(ctx)
}

// submissions yields the submissions in the files, including unreadable ones.
func (c *checker) submissions(texts iter.Seq[extracted], files int) iter.Seq[submitted] {
	return func(yield func(submitted) bool) {
		for e := range texts {
			if e.err != nil {
				yield(submitted{err: e.err})
				return
			}
			for i, item := range e.items {
				c.leftOut.Add(int64(item.LeftOut.Count))
				s := submitted{amid: i < len(e.items)-1, alone: files == 1 && len(e.items) == 1}
				if item.Err != nil {
					f := failed(item.Path, item.Err)
					s.failed = &f
				} else {
					s.name = instance.NameOf(e.name, item.Path)
					s.Submission = site.Submission{ID: c.submissionID(s.name, item.Path), Title: cmp.Or(item.Result.Title, instance.TitleOf(item.Path)),
						Text: item.Result.Text, Flags: instance.FlagsOf(item.Result.Flags)}
					s.Dated, s.DatedBy = instance.DateOf(c.f.date, item.Result)
					s.Authors = concordat.ParseCreators(cmp.Or(strings.Join(c.f.authors, "\n"), item.Result.Author))
				}
				if !yield(s) {
					return
				}
			}
		}
	}
}

// submissionID names a submission by its path relative to the given folder, so that reports do not reveal the location of that folder. If
// the name is taken, it uses the full path.
func (c *checker) submissionID(name, path string) concordat.DocumentID {
	if c.checked[name] {
		name = concordat.ShortName(filepath.ToSlash(path))
	}
	c.checked[name] = true
	return concordat.DocumentID(name)
}

// check checks one submission. b shows progress if the submission is the only one.
func (c *checker) check(ctx context.Context, s submitted, b cli.Bar) submitted {
	if s.err != nil || s.failed != nil {
		return s
	}
	options := c.options
	if s.alone {
		options.Progress = func(p site.Progress) {
			if p.Stage == "align" || p.Stage == "partner" {
				b.Max(p.Total)
				b.Set(p.Done)
			}
		}
	}
	f, err := c.o.Site.Check(ctx, s.Submission, options)
	if errors.Is(err, concordat.ErrInvalid) {
		e := failed(string(s.ID), err)
		s.failed = &e
		return s
	}
	if s.err = err; err == nil {
		s.report = report.Build(f, c.rules)
		s.report.Language, s.report.LeadFilter, s.report.Names = c.language, c.shown, c.called
	}
	return s
}

// give writes the report of a submission, or prints the failure.
func (c *checker) give(s submitted) error {
	switch {
	case s.err != nil:
		return s.err
	case s.failed != nil:
		return c.failures.add(*s.failed)
	}
	c.reached = c.reached || c.f.failOn > 0 && s.report.Scores.Covered >= c.f.failOn
	for _, asked := range s.report.Consulted {
		c.incomplete = c.incomplete || asked.Answered < asked.Asked
	}
	out := c.f.out
	out.pages = signing.PagesOf(c.o.Config, instance.Version(), nil)
	if (c.several || !s.alone) && out.out != "" && out.out != "-" {
		if err := os.MkdirAll(out.out, 0o755); err != nil {
			return err
		}
		out.out = filepath.Join(out.out, c.fileName(s.name)+"."+out.format)
	}
	return c.a.give(s.report, out)
}
