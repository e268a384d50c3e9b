// Attack does to a served site what strangers, members with few rights, hostile files and crashes may do to it, for a set
// time, and says what held.
//
//	go run ./internal/attack -bin bin/concordat -for 10m
//	go run ./internal/attack -site https://check.example.edu -token-file FILE -for 5m
//
// Without -site it makes a site of its own in a folder that it removes, served on loopback, and kills and floods that as well.
// Of a site that is named it asks nothing that would lock people out, fill its disk or end it: hostile bodies, calls
// without the right to them, and webhooks to private addresses, at a bounded rate, with a token of an administrator. No
// request goes to any other host.
//
// Exit status 1: something did not hold. 2: the attack could not be made.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"os/signal"
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
}

func main() {
	var o options
	flag.StringVar(&o.site, "site", "", "address of the site; none: one is made for this")
	flag.StringVar(&o.tokenFile, "token-file", "", "file with a token of an administrator of -site, with all scopes")
	flag.StringVar(&o.bin, "bin", "bin/concordat", "the program that serves a site that is made")
	flag.DurationVar(&o.lasts, "for", 10*time.Minute, "how long, at most")
	flag.Uint64Var(&o.seed, "seed", 0, "of what is drawn; 0: any")
	flag.StringVar(&o.only, "only", "", "attacks, separated by commas; none: all")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder of a site that is made")
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

// attack is one way to attack.
type attack struct {
	name    string
	promise string
	own     bool    // only against a site that is made for it
	share   float64 // of the time
	run     func(ctx context.Context, t *target, r *result) error
}

// attacks in the order in which they are made: guessing comes late, since it locks the addresses that it comes from.
func attacks() []attack {
	return []attack{
		{"rights", "no call is answered whose caller lacks the role, the scope or the token", false, 0.05, attackRights},
		{"pages", "no page is shown to a role that it is not for", true, 0.02, attackPages},
		{"origins", "no form of a page is taken from another origin", true, 0.03, attackOrigins},
		{"hooks", "no webhook reaches an address that is not public", false, 0.05, attackHooks},
		{"bodies", "a JSON body costs at most half a second, 64 MiB and 10 kB of answer, and ends in 4xx", false, 0.10, attackBodies},
		{"files", "a hostile file ends as one check with an error or a text, and nothing of the machine is read", true, 0.40, attackFiles},
		{"slow", "slow connections are ended, and leave pages, sign-in and documents working", true, 0.10, attackSlow},
		{"guesses", "guesses at once are no more than the bound says, and others sign in meanwhile", true, 0.05, attackGuesses},
		{"crash", "what was killed and then deleted leaves no byte; what was acknowledged is there", true, 0.20, attackCrash},
	}
}

// result collects the findings of an attack. Its methods are for one goroutine.
type result struct {
	tries  int
	counts map[string]int
	faults []string
	more   int // faults beyond mostFaults
}

const mostFaults = 20

// fault notes that something did not hold.
func (r *result) fault(format string, args ...any) {
	if len(r.faults) >= mostFaults {
		r.more++
		return
	}
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// count adds to a figure that is printed.
func (r *result) count(what string, n int) {
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	r.counts[what] += n
}

// underWay is how long what is under way when the time is over may take.
const underWay = 2 * time.Minute

// errTime: an attack had no time to end. Nothing is known of it, and it is not said that it held.
var errTime = errors.New("the time was over before it ended: make -for longer, or name some attacks with -only")

func run(ctx context.Context, o options, out io.Writer) (held bool, err error) {
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	t, err := newTarget(ctx, o)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	fmt.Fprintf(out, "attacking %s for at most %s, seed %d\n", t.base, o.lasts, o.seed)
	end := time.Now().Add(o.lasts)
	ctx, cancel := context.WithDeadline(ctx, end.Add(underWay))
	defer cancel()
	held = true
	names := map[string]bool{}
	for n := range strings.SplitSeq(o.only, ",") {
		names[n] = n != ""
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, a := range attacks() {
		if a.own && !t.made || o.only != "" && !names[a.name] {
			continue
		}
		t.random = rand.New(rand.NewPCG(o.seed, uint64(i)))
		t.end = time.Now().Add(time.Duration(a.share * float64(o.lasts)))
		var r result
		began := time.Now()
		err := a.run(ctx, t, &r)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			// What failed may have failed for that reason alone: it is no finding.
			return false, fmt.Errorf("%s: %w: it had %s; the machine may be busy", a.name, errTime, time.Since(began).Round(time.Second))
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", a.name, err)
		}
		if err := t.alive(ctx); err != nil {
			r.fault("the site does not answer after it: %v", err)
		}
		held = held && len(r.faults) == 0
		r.print(w, a, time.Since(began))
		if err := w.Flush(); err != nil {
			return false, err
		}
	}
	return held, nil
}

func (r *result) print(w io.Writer, a attack, took time.Duration) {
	word := "held"
	if len(r.faults) > 0 {
		word = "NOT HELD"
	}
	var counts []string
	for _, k := range sortedKeys(r.counts) {
		counts = append(counts, fmt.Sprintf("%d %s", r.counts[k], k))
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

// checkSite refuses an address that is none of a site.
func checkSite(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("-site %q: http or https address of a site, for example https://check.example.edu", s)
	}
	return strings.TrimSuffix(s, "/"), nil
}
