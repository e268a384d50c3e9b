// Package config reads the configuration of a site: one YAML file, overlaid by the environment.
//
// Start from [Load]. It reports all faults at once, each with its line and key, and knows where each value came from.
// doc/config.md, which a test compares with the code, lists every key with its unit, its default and whether it can change
// while the site runs.
//
// A Config is checked as a whole and never changed afterwards, so it is safe for concurrent use; a changed file becomes a new
// Config, and [Diff] returns the differences.
package config

import (
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"concordat"
	"concordat/report"
)

// Config is the configuration of a site. All values are in range.
type Config struct {
	Site       Site
	Scheme     string // name of a recipe of package profile
	Check      Check
	Meaning    Meaning
	Report     Report
	Templates  []Template // in order of name, without duplicates
	Extract    Extract
	Store      Store
	Backup     Backup
	Serve      Serve
	Webhooks   Webhooks
	Harvest    Harvest
	Login      Login
	LTI        LTI
	Federation Federation
	People     People
	Retention  Retention
	Submission Submission
	Log        Log
	Segment    Segment
	Wording    Wording
	Index      Index
	Cluster    Cluster

	origins map[string]Origin // of keys that are not at their default
}

// Site identifies this site.
type Site struct {
	ID    concordat.SiteID
	Title string
}

// Wording configures the public wording that documents may share.
type Wording struct {
	Stock string // file of the site's own public wording; a relative path starts at the site's folder; empty: none
}

// Check holds the defaults of checks.
type Check struct {
	Threshold float64 // share of a document, 0 to 1, from which the document is called reused
	Probe     concordat.Probe
	Forward   string // unmatched, all or none
	Short     bool   // titles, headings and answers are compared too
	// ShortThreshold is the minimum similarity of two short texts, above 0, at most 1.
	ShortThreshold float64
	AgainDays      int // days after which submissions from the pages are checked again; 0: never
}

// Report configures how reports are made.
type Report struct {
	Language         string       // of a report's own words, for example en or zh
	Certificate, Key string       // files that sign PDF reports; empty: the site's own key
	Rules            report.Rules // applied to findings, unless a check or a batch has its own
}

// Extract holds the limits of extraction; see extract.Options and sandbox.Options.
type Extract struct {
	MaxInput    int64 // maximum size of a file in bytes
	MaxText     int64 // bytes of UTF-8
	MaxUnpacked int64 // memory of a child in bytes
	MaxPages    int
	MaxEntries  int
	MaxRatio    int
	MaxDepth    int
	MaxNesting  int
	Wall        time.Duration
	CPU         time.Duration
	Memory      int64  // maximum unpacked size in bytes
	OCR         string // languages of character recognition, joined by +; empty: none
}

// Serve configures where the serving process listens.
type Serve struct {
	Listen   string // host and port of the pages
	Metrics  string // host and port of /metrics; empty: nowhere
	LowWater int64  // bytes of the disk to keep free
	URL      string // where people reach it, without a path; empty: at Listen
}

// Federation configures how the site appears to its partners.
type Federation struct {
	Listen string         // host and port for partners; empty: nowhere
	Behind bool           // a proxy ends TLS
	Allow  []netip.Prefix // networks that are not public but may have partners
}

// Webhooks configures which addresses webhooks may have.
type Webhooks struct {
	Allow []netip.Prefix // networks that are not public
}

// Harvest configures how sources of documents are read.
type Harvest struct {
	Allow   []netip.Prefix // networks that are not public
	Pause   time.Duration  // pause between two requests to a host
	Contact string         // contact for operators of repositories; empty: none
}

// Segment configures how text is split.
type Segment struct {
	Gojieba bool // gojieba itself divides Chinese into words
}

// Index configures how the index is stored.
type Index struct {
	KeepTable bool // data derived on opening stays on disk while the index is closed; see index.Options.Warm
	// StockSegments leaves writing the index files entirely to Bleve; see index.Options.StockSegments.
	StockSegments bool
}

// Log configures what is logged.
type Log struct {
	Level  slog.Level
	Format string // text or json
}

// Central are values of keys that apply to all machines of a site: they override a file, and a machine's environment overrides
// them.
type Central struct {
	Version int64
	Keys    map[string]string // written as in the environment
}

// Lookup finds a variable of the environment, as os.LookupEnv does.
type Lookup func(name string) (value string, ok bool)

// MaxFile bounds the configuration file and each template file, in bytes.
const MaxFile = 1 << 20

// Load reads the file at path, then the environment; an empty path means no file, and nil no environment. All faults are returned at once
// as [Faults], which wraps concordat.ErrInvalid; other errors come from reading the file. Relative paths in the file start at its folder,
// those in the environment at the working folder.
func Load(path string, env Lookup) (*Config, error) { return LoadCentral(path, Central{}, env) }

// LoadCentral is Load with the settings of all machines of the site.
func LoadCentral(path string, central Central, env Lookup) (*Config, error) {
	var text []byte
	if path != "" {
		var err error
		if text, err = readFile(path); err != nil {
			return nil, err
		}
	}
	return loadCentral(text, path, central, env)
}

// Default returns the configuration that applies without a file and an environment.
func Default() *Config {
	c := &Config{origins: map[string]Origin{}}
	for _, k := range keys {
		if err := k.set(c, k.Default); err != nil {
			panic(fmt.Sprintf("default of %s: %v", k.Name, err)) // the table is wrong; a test checks it
		}
	}
	return c
}

func loadCentral(text []byte, path string, central Central, env Lookup) (*Config, error) {
	c := Default()
	p := parser{config: c, file: path, dir: filepath.Dir(path)}
	p.parse(text)
	p.central(central)
	p.environment(env)
	p.secrets(env)
	p.together()
	if len(p.faults) > 0 {
		return nil, p.faults
	}
	return c, nil
}

// central overlays the settings of all machines on the file.
func (p *parser) central(central Central) {
	for _, k := range keys {
		value, ok := central.Keys[k.Name]
		if !ok {
			continue
		}
		origin := Origin{Central: central.Version}
		if err := k.set(p.config, value); err != nil {
			p.faults = append(p.faults, Fault{File: origin.String(), Key: k.Name, Problem: err.Error()})
			continue
		}
		p.config.origins[k.Name] = origin
	}
}

// WithLive returns a configuration with the values of next for the keys that change while the site runs, and those of c for the others.
// alone says that the site has one machine.
func (c *Config) WithLive(next *Config, alone bool) *Config {
	out := *c
	out.origins = maps.Clone(c.origins)
	take := func(name string) {
		delete(out.origins, name)
		if o, ok := next.origins[name]; ok {
			out.origins[name] = o
		}
	}
	for _, k := range keys {
		if !k.Live && !(k.Alone && alone) {
			continue
		}
		if err := k.set(&out, k.get(next)); err != nil {
			panic(fmt.Sprintf("value of %s: %v", k.Name, err)) // it was accepted before
		}
		take(k.Name)
	}
	out.Templates = next.Templates
	take("templates")
	return &out
}

// environment overlays the variables on the file.
func (p *parser) environment(env Lookup) {
	if env == nil {
		return
	}
	for _, k := range keys {
		value, ok := env(k.Env())
		if !ok {
			continue
		}
		if err := k.set(p.config, value); err != nil {
			p.faults = append(p.faults, Fault{File: "$" + k.Env(), Key: k.Name, Problem: err.Error()})
			continue
		}
		p.config.origins[k.Name] = Origin{Env: k.Env()}
	}
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	text, err := readAtMost(f, MaxFile)
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", path, err)
	}
	return text, nil
}

// Fault is one thing wrong with a configuration.
type Fault struct {
	File    string // name of the file, or $ and the name of the variable
	Line    int    // from 1; 0: none
	Key     string // for example check.threshold; empty: the fault concerns no key
	Problem string
}

// String returns file:line: key: problem.
func (f Fault) String() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
		b.WriteString(": ")
	} else if f.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", f.Line)
	}
	if f.Key != "" {
		b.WriteString(f.Key + ": ")
	}
	return b.String() + f.Problem
}

// Faults is everything that is wrong with a configuration, in order of file and line.
type Faults []Fault

// Error returns the faults, one a line.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns concordat.ErrInvalid.
func (Faults) Unwrap() error { return concordat.ErrInvalid }
