// Package config reads the configuration of a site from one YAML file, overlaid by the environment.
//
// Start from [Load]. It reports all faults at once, each with its line and key, and records the origin of each value. doc/config.md lists
// every key with its unit, its default and whether it can change while the site runs; a test compares it with the code.
//
// A Config is validated as a whole and never changes afterwards, so it is safe for concurrent use. A changed file becomes a new Config,
// and [Diff] returns the differences.
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
	Scheme     string // name of a recipe in package profile
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

	origins map[string]Origin // of the keys that were set
}

// Site identifies this site.
type Site struct {
	ID    concordat.SiteID
	Title string
}

// Wording configures the public wording that documents may share.
type Wording struct {
	Stock string // file with the site's own public wording, relative to the site's folder; empty if there is none
}

// Check contains the defaults for checks.
type Check struct {
	Threshold float64 // proportion of a document, 0 to 1, above which it counts as reused
	Probe     concordat.Probe
	Forward   string // unmatched, all or none
	Short     bool   // also compare titles, headings and answers
	// ShortThreshold is the minimum similarity of two short texts, greater than 0 and at most 1.
	ShortThreshold float64
	AgainDays      int // days after which submissions from the pages are checked again; 0 means never
}

// Report configures reports.
type Report struct {
	Language         string       // language of a report's own wording, for example en or zh
	Certificate, Key string       // files for signing PDF reports; by default, the site's own key
	Rules            report.Rules // for findings, unless a check or batch overrides them
}

// Extract contains the limits on extraction; see extract.Options and sandbox.Options.
type Extract struct {
	MaxInput    int64 // maximum size of a file in bytes
	MaxText     int64 // bytes of UTF-8
	MaxUnpacked int64 // maximum unpacked size in bytes
	MaxPages    int
	MaxEntries  int
	MaxRatio    int
	MaxDepth    int
	MaxNesting  int
	Wall        time.Duration
	CPU         time.Duration
	Memory      int64  // memory of a child process in bytes
	OCR         string // languages for character recognition, joined by +; empty disables it
}

// Serve configures the addresses of the serving process.
type Serve struct {
	Listen   string // host and port for the pages
	Metrics  string // host and port for /metrics; empty disables it
	LowWater int64  // bytes to keep free on the disk
	URL      string // public URL without a path; by default Listen
}

// Federation configures how the site appears to its partners.
type Federation struct {
	Listen string         // host and port for partners; empty disables it
	Behind bool           // a proxy terminates TLS
	Allow  []netip.Prefix // private networks that may contain partners
}

// Webhooks configures the addresses allowed for webhooks.
type Webhooks struct {
	Allow []netip.Prefix // private networks that are allowed
}

// Harvest configures how sources of documents are read.
type Harvest struct {
	Allow   []netip.Prefix // private networks that are allowed
	Pause   time.Duration  // pause between two requests to the same host
	Contact string         // contact for repository operators; empty if there is none
}

// Segment configures how text is split.
type Segment struct {
	Gojieba bool // gojieba itself segments Chinese
}

// Index configures how the index is stored.
type Index struct {
	KeepTable bool // keep derived data on disk while the index is closed; see index.Options.Warm
	// StockSegments lets Bleve write all index files; see index.Options.StockSegments.
	StockSegments bool
}

// Log configures logging.
type Log struct {
	Level  slog.Level
	Format string // text or json
}

// Central contains keys for all machines of a site. They override a machine's file, and a machine's environment overrides them.
type Central struct {
	Version int64
	Keys    map[string]string // in the syntax of the environment
}

// Lookup looks up a variable of the environment, like os.LookupEnv.
type Lookup func(name string) (value string, ok bool)

// MaxFile is the maximum size in bytes of the configuration file and of each template file.
const MaxFile = 1 << 20

// Load reads the file at path and then the environment. An empty path means no file; a nil env means no environment. It returns all
// faults at once as [Faults], which wraps concordat.ErrInvalid. Other errors come from reading the file. Relative paths are relative to
// the file's folder if they are in the file, and to the working folder if they are in the environment.
func Load(path string, env Lookup) (*Config, error) { return LoadCentral(path, Central{}, env) }

// LoadCentral is like Load, but includes the settings for all machines of the site.
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

// Default returns the configuration without a file or environment.
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

// central applies the settings for all machines on top of the file.
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

// WithLive returns a copy of c with next's values for the keys that can change while the site runs. alone means that the site has one
// machine.
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

// environment applies the variables on top of the file.
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

// Fault is one fault in a configuration.
type Fault struct {
	File    string // name of the file, or $ and the name of the variable
	Line    int    // from 1; 0 if unknown
	Key     string // for example check.threshold; empty if the fault is not about a key
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

// Faults contains all faults in a configuration, in order of file and line.
type Faults []Fault

// Error returns the faults, one per line.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns concordat.ErrInvalid.
func (Faults) Unwrap() error { return concordat.ErrInvalid }
