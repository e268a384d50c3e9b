package program

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/instance"
)

// States of a finding.
const (
	findingOK      = "ok"
	findingWarning = "warning" // the site works but needs attention
	findingFault   = "fault"   // something is broken or lost
	findingSkipped = "skipped" // not examined; the message gives the reason
)

// finding is doctor's verdict on one aspect of the site.
type finding struct {
	Check  string `json:"check"` // stable, for use by programs
	State  string `json:"state"`
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"` // how to fix it
	Fix    string `json:"fix,omitempty"`    // the effect of --fix, planned or done
	Fixed  bool   `json:"fixed,omitempty"`

	fix func() error
}

// doctorOptions specifies what to examine.
type doctorOptions struct {
	quick, offline bool
	sample         int
	timeout        time.Duration
}

// doctor collects findings about the site in dir.
type doctor struct {
	a        *app
	dir      string
	o        doctorOptions
	now      time.Time
	findings []finding
}

func (d *doctor) add(f finding) { d.findings = append(d.findings, f) }

func (d *doctor) ok(check, format string, args ...any) {
	d.add(finding{Check: check, State: findingOK, Detail: fmt.Sprintf(format, args...)})
}

func (d *doctor) warning(check, advice, format string, args ...any) {
	d.add(finding{Check: check, State: findingWarning, Detail: fmt.Sprintf(format, args...), Advice: advice})
}

func (d *doctor) fault(check, advice string, err error) {
	d.add(finding{Check: check, State: findingFault, Detail: err.Error(), Advice: advice})
}

func (d *doctor) skipped(check, format string, args ...any) {
	d.add(finding{Check: check, State: findingSkipped, Detail: fmt.Sprintf(format, args...)})
}

// broken reports whether a check has found a fault.
func (d *doctor) broken(check string) bool {
	return slices.ContainsFunc(d.findings, func(f finding) bool { return f.Check == check && f.State == findingFault })
}

func (a *app) doctorCommand() *cobra.Command {
	var o doctorOptions
	var fix, yes bool
	c := &cobra.Command{
		Use: "doctor", Short: "Check the installation and explain how to fix what is wrong", Args: cobra.NoArgs,
		Long: `Doctor checks the folder and its permissions, the configuration, the disk, the store and the
audit, the index against the catalogue, the originals, keys and card, the clock, the ports, file extraction
and the partners, whether the server is running or not. It changes nothing.

Exit code 0 means nothing worse than warnings, 1 a fault. --fix lists the problems that it can safely fix, such as
wrong permissions and leftovers of interrupted work; with --yes it fixes them.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if yes && !fix {
				return cli.Usagef("--yes requires --fix")
			}
			return a.examine(cmd.Context(), o, fix, yes)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.quick, "quick", false, "skip checks that read the whole store and index")
	f.BoolVar(&o.offline, "offline", false, "do not contact partners")
	f.IntVar(&o.sample, "originals", 100, "number of originals to compare with their hashes; -1: all")
	f.DurationVar(&o.timeout, "timeout", 10*time.Second, "how long to wait for a partner")
	f.BoolVar(&fix, "fix", false, "list the problems that can be fixed safely")
	f.BoolVar(&yes, "yes", false, "with --fix, fix the problems instead of listing them")
	return c
}

func (a *app) examine(ctx context.Context, o doctorOptions, fix, yes bool) error {
	dir, err := a.Dir()
	if err != nil {
		return err
	}
	d := &doctor{a: a, dir: dir, o: o, now: time.Now()}
	if err := d.examine(ctx); err != nil {
		return err
	}
	faults, warnings := 0, 0
	for i := range d.findings {
		f := &d.findings[i]
		if fix && yes && f.fix != nil {
			if err := f.fix(); err != nil {
				f.Advice = fmt.Sprintf("%s (the automatic fix failed: %v)", f.Advice, err)
			} else {
				f.Fixed = true
			}
		}
		switch {
		case f.Fixed:
		case f.State == findingFault:
			faults++
		case f.State == findingWarning:
			warnings++
		}
		if err := a.tellFinding(f, fix); err != nil {
			return err
		}
	}
	a.Say("%d checks, %d faults, %d warnings", len(d.findings), faults, warnings)
	if faults > 0 {
		return &cli.Exit{Code: cli.Failed, Err: nil}
	}
	return nil
}

func (a *app) tellFinding(f *finding, fix bool) error {
	if a.JSON {
		return a.Line(f)
	}
	a.Say("%-8s %-12s %s", f.State, f.Check, f.Detail)
	if f.Advice != "" && !f.Fixed {
		a.Say("%21s %s", "→", f.Advice)
	}
	switch {
	case f.Fixed:
		a.Say("%21s fixed: %s", "→", f.Fix)
	case f.Fix != "" && fix:
		a.Say("%21s --fix --yes would %s", "→", f.Fix)
	case f.Fix != "":
		a.Say("%21s --fix can fix this", "→")
	}
	return nil
}

// examine runs all checks. The checks are as independent as possible; a damaged store, for example, does not prevent an examination of
// the keys.
func (d *doctor) examine(ctx context.Context) error {
	if !d.folder() {
		return nil // without a site, the other checks would only repeat this finding
	}
	c, err := instance.LoadConfig(d.path(instance.ConfigName))
	if err != nil {
		d.fault("config", "fix the line named in the error; to see all keys, run concordat config check", err)
		return nil
	}
	d.config(c)
	d.disk(c)
	d.extraction(ctx, c)
	served, down := instance.Serving(ctx, d.dir)
	if down != nil {
		served = nil
	}
	d.ports(ctx, c, served)
	d.proxies(c)
	d.encoder(ctx, c)
	err = d.a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
		d.store(ctx, o)
		d.originals(ctx, o)
		d.contents(ctx, o)
		d.clock(ctx, o)
		d.keys(ctx, o)
		d.backups(ctx, o)
		return ctx.Err()
	})
	if err != nil {
		d.fault("store", "restore the site from a backup with concordat restore", err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	d.cluster(ctx, c)
	d.index(ctx, c, served)
	return ctx.Err()
}
