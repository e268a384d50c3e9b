// Attack attacks a served site for a set time, as strangers, members with few rights, hostile files and crashes would, and reports which
// defences held.
//
//	bin/attack -bin bin/concordat -for 10m
//	bin/attack -site https://check.example.edu -token-file FILE -for 5m
//
// Without -site, it creates its own site in a temporary folder, serves it on loopback, and also kills and floods it. It does nothing to a
// given site that would lock people out, fill its disk or stop it. The site only gets hostile bodies, calls without the necessary rights,
// and webhooks to private addresses, at a limited rate, with an administrator's token. No request goes to any other host.
//
// Exit status 1 means that a defence did not hold. Exit status 2 means that the attack could not run, or that time was too short to try
// everything, although all defences tried held.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

type options struct {
	site, tokenFile string
	bin             string
	lasts           time.Duration
	seed            uint64
	only            string
	keep            bool
	grace           time.Duration // time for an attack to finish when its time is up; 0 means underWay
}

func main() {
	var o options
	flag.StringVar(&o.site, "site", "", "address of the site (default: a site created for the attacks)")
	flag.StringVar(&o.tokenFile, "token-file", "", "file with an administrator's token for -site that has all scopes")
	flag.StringVar(&o.bin, "bin", "bin/concordat", "program that serves the site created for the attacks")
	flag.DurationVar(&o.lasts, "for", 10*time.Minute, "total duration; each attack may take up to two more minutes to finish")
	flag.Uint64Var(&o.seed, "seed", 0, "seed for random choices (default: a random seed)")
	flag.StringVar(&o.only, "only", "", "attacks, separated by commas (default: all)")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder of the site created for the attacks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	held, err := run(ctx, o, os.Stdout)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(2)
	case !held:
		os.Exit(1)
	}
}

// attack is one kind of attack.
type attack struct {
	name    string
	promise string
	own     bool    // whether it only attacks a site created for the purpose
	share   float64 // proportion of the time
	run     func(ctx context.Context, t *target, r *result) error
}

// attacks returns the attacks in the order in which they run. Guessing comes late, because it locks out the addresses that it uses.
func attacks() []attack {
	return []attack{
		{"rights", "API calls without the required token, role or scope are always rejected", false, 0.05, attackRights},
		{"pages", "pages are shown only to the roles that may see them", true, 0.02, attackPages},
		{"origins", "forms sent from a different origin are always rejected", true, 0.03, attackOrigins},
		{"hooks", "webhooks reach only public addresses", false, 0.05, attackHooks},
		{"bodies", "a JSON body takes at most half a second and 64 MiB to reject, with a 4xx response of at most 10 kB", false, 0.10, attackBodies},
		{"files", "a hostile file starts one check, which fails or returns a text, and cannot read other files on the machine", true, 0.40, attackFiles},
		{"slow", "slow connections are closed, while pages, sign-in and adding documents keep working", true, 0.10, attackSlow},
		{"guesses", "simultaneous guesses never exceed the limit, and other people can still sign in", true, 0.05, attackGuesses},
		{"crash", "after a kill, every acknowledged document is kept, and a deleted document leaves no text behind", true, 0.20, attackCrash},
	}
}

// result collects the findings of an attack. Only one goroutine may use it.
type result struct {
	tries  int
	left   int  // attempts not made for lack of time
	cut    bool // whether the attack was interrupted
	counts map[string]int
	faults []string
	more   int         // number of faults beyond maxFaults
	over   func() bool // reports whether the attack is ending, which alone can cause failures
}

const maxFaults = 20

// fault records that a defence did not hold.
func (r *result) fault(format string, args ...any) {
	switch {
	case r.over != nil && r.over():
	case len(r.faults) >= maxFaults:
		r.more++
	default:
		r.faults = append(r.faults, fmt.Sprintf(format, args...))
	}
}

// count adds to a printed number.
func (r *result) count(what string, n int) {
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	r.counts[what] += n
}

// each tries all items in random order. It always tries the first one, and others until the attack's time is up.
func each[T any](t *target, r *result, all []T, try func(T) error) error {
	t.random.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	for i, x := range all {
		if i > 0 && time.Now().After(t.end) {
			r.left += len(all) - i
			return nil
		}
		if err := try(x); err != nil {
			return err
		}
	}
	return nil
}

// underWay is the maximum time for an attack to finish when its time is up.
const underWay = 2 * time.Minute

// errTime means that some attacks did not have time to finish. Defences that they did not try are not
// reported as held.
var errTime = errors.New("time ran out before all attacks were complete: increase -for, or select attacks with -only")

func run(ctx context.Context, o options, out io.Writer) (held bool, err error) {
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	o.grace = cmp.Or(o.grace, underWay)
	t, err := newTarget(ctx, o)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	fmt.Fprintf(out, "attacking %s for %s with seed %d\n", t.base, o.lasts, o.seed)
	names := map[string]bool{}
	for n := range strings.SplitSeq(o.only, ",") {
		names[n] = n != ""
	}
	all := slices.DeleteFunc(attacks(), func(a attack) bool { return a.own && !t.made || o.only != "" && !names[a.name] })
	p := plan{lasts: o.lasts}
	for _, a := range all {
		p.shares = append(p.shares, a.share)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	held = true
	var short []string
	for i, a := range all {
		began := time.Now()
		has := p.next()
		t.random, t.end = rand.New(rand.NewPCG(o.seed, uint64(i))), began.Add(has)
		r, err := t.attack(ctx, a, has+o.grace)
		if err != nil {
			return false, fmt.Errorf("%s: %w", a.name, err)
		}
		took := time.Since(began)
		p.took(took)
		held = held && len(r.faults) == 0
		if r.cut || r.left > 0 {
			short = append(short, a.name)
		}
		r.print(w, a, took)
		if err := w.Flush(); err != nil {
			return false, err
		}
	}
	if held && len(short) > 0 {
		return false, fmt.Errorf("%s: %w", strings.Join(short, ", "), errTime)
	}
	return held, nil
}

// attack runs one attack and interrupts it after the given time.
func (t *target) attack(ctx context.Context, a attack, most time.Duration) (r result, err error) {
	own, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	r.over = func() bool { return own.Err() != nil }
	err = a.run(own, t, &r)
	r.over = nil
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case own.Err() != nil:
		r.cut = true
		if err := t.revive(ctx); err != nil {
			return r, err
		}
	case err != nil:
		return r, err
	}
	if err := t.alive(ctx); err != nil {
		r.fault("the site is not responding after the attack: %v", err)
	}
	return r, nil
}

// plan allocates each attack its share of the time, regardless of how long the others took. Time left over by an attack goes to later
// ones, but time beyond its share is not deducted from theirs.
type plan struct {
	lasts  time.Duration
	shares []float64 // shares of the remaining attacks
	of     float64   // sum of all shares; 0 before the first attack
	spare  time.Duration
	given  time.Duration // time allocated to the current attack
}

// next returns the time for the next attack.
func (p *plan) next() time.Duration {
	left := 0.0
	for _, s := range p.shares {
		left += s
	}
	if p.of == 0 {
		p.of = left
	}
	s := p.shares[0]
	p.shares = p.shares[1:]
	extra := time.Duration(float64(p.spare) * s / left)
	p.spare -= extra
	p.given = time.Duration(float64(p.lasts)*s/p.of) + extra
	return p.given
}

// took records how long the latest attack from next took.
func (p *plan) took(d time.Duration) { p.spare += max(0, p.given-d) }

func (r *result) print(w io.Writer, a attack, took time.Duration) {
	word := "held"
	switch {
	case len(r.faults) > 0:
		word = "NOT HELD"
	case r.cut:
		word = "cut short"
	case r.left > 0:
		word = "held so far"
	}
	var counts []string
	for _, k := range sortedKeys(r.counts) {
		counts = append(counts, fmt.Sprintf("%d %s", r.counts[k], k))
	}
	if r.left > 0 {
		counts = append(counts, fmt.Sprintf("%d not tried", r.left))
	}
	fmt.Fprintf(w, "%s\t%s\t%d tries\t%s\t%s\n", word, a.name, r.tries, took.Round(time.Second), strings.Join(counts, ", "))
	fmt.Fprintf(w, "\t\t%s\n", a.promise)
	for _, f := range r.faults {
		fmt.Fprintf(w, "\t\t  %s\n", f)
	}
	if r.more > 0 {
		fmt.Fprintf(w, "\t\t  and %d more\n", r.more)
	}
}

// checkSite rejects an address that cannot be a site's.
func checkSite(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("invalid address %q for -site; want an http or https address such as https://check.example.edu", s)
	}
	return strings.TrimSuffix(s, "/"), nil
}
