package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"concordat"
	"concordat/report"
	"concordat/report/language"
)

// Key is a setting with a single value.
type Key struct {
	Name    string // in the file, for example check.threshold
	Type    string // including its range or its words
	Unit    string
	Default string
	Live    bool // takes effect while the site runs; otherwise at the next start
	Alone   bool // takes effect while a site with one machine runs
	Doc     string
	Words   []string // the only allowed values; nil if others are allowed
	Least   string   // minimum of an integer
	Most    string

	set func(*Config, string) error
	get func(*Config) string
}

// Env returns the variable that overrides the key.
func (k Key) Env() string {
	return "CONCORDAT_" + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// Keys returns all keys except templates, in the order of doc/config.md.
func Keys() []Key { return slices.Clone(keys) }

// yesNoType is the type of a boolean key.
const yesNoType = "true or false"

const (
	live    = true
	restart = false

	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

var siteID = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

var keys = slices.Concat(siteKeys, ruleKeys(), extractKeys, meaningKeys, storeKeys, peopleKeys, logKeys, clusterKeys)

var siteKeys = []Key{
	matching("site.id", "local", restart, siteID, func(c *Config) *concordat.SiteID { return &c.Site.ID },
		"Name of the site in the federation: lower-case letters, digits, dot, hyphen, underscore; at most 63."),
	text("site.title", "", live, func(c *Config) *string { return &c.Site.Title },
		"Display name of the site, shown in reports and to partners."),
	word("scheme", "natural", restart, func(c *Config) *string { return &c.Scheme },
		"Fingerprint recipe; after a change, reindex existing documents.",
		"natural", "packed", "natural-b1", "natural-b2", "natural-simhash", "packed-simhash"),

	threshold("check.threshold", "0.3", live, func(c *Config) *float64 { return &c.Check.Threshold },
		"Minimum match share at which a report recommends a close read."),
	probe("check.probe", "one", live, func(c *Config) *concordat.Probe { return &c.Check.Probe },
		"exact: look up only each band's own value, which is faster but finds only close copies; one: also look up neighbouring values."),
	word("check.forward", "unmatched", live, func(c *Config) *string { return &c.Check.Forward },
		"Sentences to ask partner sites about: those that matched nothing here, all, or none.",
		"unmatched", "all", "none"),

	yesNo("check.short", "false", live, func(c *Config) *bool { return &c.Check.Short },
		"Also compare titles, headings and answers too short for fingerprints; reports show them separately."),
	threshold("check.short_threshold", "0.5", live, func(c *Config) *float64 { return &c.Check.ShortThreshold },
		"Minimum similarity of two short texts: the exact Jaccard similarity of their letter sequences."),
	number("check.again_days", "0", live, "days", 0, 3650, func(c *Config) *int { return &c.Check.AgainDays },
		"Days after which submissions from the pages are checked again. 0: only if set for a check."),

	text("wording.stock", "", restart, func(c *Config) *string { return &c.Wording.Stock },
		"File with wording that anyone at this site may use, such as declarations (UTF-8, at most 4 MiB)."),

	tongue("report.language", "en", live, func(c *Config) *string { return &c.Report.Language },
		"Language of reports, such as en or zh."),
	text("report.certificate", "", live, func(c *Config) *string { return &c.Report.Certificate },
		"File with the X.509 certificate chain for signing PDF reports (PEM). Empty: the site generates one."),
	text("report.key", "", live, func(c *Config) *string { return &c.Report.Key },
		"File with the private key of report.certificate (PEM, not encrypted, readable by the site only)."),
}

// ruleKeys returns the keys of the rules of reports, from their table.
func ruleKeys() []Key {
	var out []Key
	for _, r := range report.RuleTable() {
		name := "report." + r.Name
		initial := func(zero string) string { return cmp.Or(r.Initial, zero) }
		switch r.Of(&report.Rules{}).(type) {
		case *bool:
			out = append(out, yesNo(name, initial("false"), live, func(c *Config) *bool { return r.Of(&c.Report.Rules).(*bool) }, r.Doc))
		case *int:
			out = append(out, number(name, initial("0"), live, r.Unit, int(r.Least), int(r.Most),
				func(c *Config) *int { return r.Of(&c.Report.Rules).(*int) }, r.Doc))
		case *float64:
			out = append(out, share(name, initial("0"), live, func(c *Config) *float64 { return r.Of(&c.Report.Rules).(*float64) }, r.Doc))
		case *[]string:
			out = append(out, list(name, r.Initial, live, func(c *Config) *[]string { return r.Of(&c.Report.Rules).(*[]string) }, r.Doc,
				r.Words...))
		case *[]concordat.Kind:
			out = append(out, list(name, r.Initial, live,
				func(c *Config) *[]concordat.Kind { return r.Of(&c.Report.Rules).(*[]concordat.Kind) },
				r.Doc, r.Words...))
		}
	}
	return out
}

var extractKeys = []Key{
	size("extract.max_input", "256MiB", restart, 1, 1<<40, func(c *Config) *int64 { return &c.Extract.MaxInput },
		"Maximum size of a file."),
	size("extract.max_text", "32MiB", restart, 1, 1*gib, func(c *Config) *int64 { return &c.Extract.MaxText },
		"Maximum text kept from one document; the rest is reported as unread."),
	size("extract.max_unpacked", "512MiB", restart, 1, 1<<40, func(c *Config) *int64 { return &c.Extract.MaxUnpacked },
		"Maximum unpacked size of all parts of one file."),
	number("extract.max_pages", "5000", restart, "pages", 1, 1_000_000, func(c *Config) *int { return &c.Extract.MaxPages },
		"Maximum pages read from a PDF."),
	number("extract.max_entries", "10000", restart, "entries", 1, 10_000_000, func(c *Config) *int { return &c.Extract.MaxEntries },
		"Maximum entries in an archive, including nested archives."),
	number("extract.max_ratio", "200", restart, "", 1, 1_000_000, func(c *Config) *int { return &c.Extract.MaxRatio },
		"Maximum ratio of unpacked to packed size of an archive."),
	number("extract.max_depth", "256", restart, "levels", 1, 100_000, func(c *Config) *int { return &c.Extract.MaxDepth },
		"Maximum nesting depth of elements in a document."),
	number("extract.max_nesting", "3", restart, "levels", 1, 100, func(c *Config) *int { return &c.Extract.MaxNesting },
		"Maximum depth of archives within archives."),
	duration("extract.wall", "2m", restart, time.Second, time.Hour, func(c *Config) *time.Duration { return &c.Extract.Wall },
		"Maximum time to read one file."),
	duration("extract.cpu", "1m", restart, time.Second, time.Hour, func(c *Config) *time.Duration { return &c.Extract.CPU },
		"Maximum processor time to read one file."),
	size("extract.memory", "1GiB", restart, 256*mib, 1<<40, func(c *Config) *int64 { return &c.Extract.Memory },
		"Maximum memory to read one file."),
	text("extract.ocr", "", restart, func(c *Config) *string { return &c.Extract.OCR },
		"Tesseract languages for pages without a text layer, such as eng+chi_sim. Empty: no OCR."),

	address("serve.listen", "127.0.0.1:8420", func(c *Config) *string { return &c.Serve.Listen },
		"Address of the pages and the API. Port 0: any free port."),
	address("serve.metrics", "", func(c *Config) *string { return &c.Serve.Metrics },
		"Private address of /metrics, /healthz and /readyz, which need no sign-in."),
	size("serve.low_water", "128MiB", live, 0, 1<<40, func(c *Config) *int64 { return &c.Serve.LowWater },
		"Minimum free disk space; below this, the site accepts no files and starts no checks."),
	webAddress("serve.url", func(c *Config) *string { return &c.Serve.URL },
		"Public address of the pages, such as https://check.example.edu; https binds cookies to it. Empty: serve.listen, over http."),

	word("login.password", PasswordEveryone, restart, func(c *Config) *string { return &c.Login.Password },
		"Who may sign in with a password; others use a provider (login.oidc).",
		PasswordEveryone, PasswordAdministrators),

	yesNo("lti.learners", "false", restart, func(c *Config) *bool { return &c.LTI.Learners },
		"Allow learners to open the reports of their own work from a learning platform."),
	yesNo("lti.private_addresses", "false", restart, func(c *Config) *bool { return &c.LTI.Private },
		"Allow learning platforms at private or loopback addresses, and over http."),

	address("federation.listen", "", func(c *Config) *string { return &c.Federation.Listen },
		"Address to listen on for partner sites. The site's card contains its public address."),
	yesNo("federation.behind_proxy", "false", restart, func(c *Config) *bool { return &c.Federation.Behind },
		"Whether a proxy terminates TLS, so that only sealed messages identify partners."),
	networks("federation.allow", "", func(c *Config) *[]netip.Prefix { return &c.Federation.Allow },
		"Private networks where partners may be, such as 10.0.0.0/8; not needed if the site's card lists an address there."),
}

var logKeys = []Key{
	networks("webhooks.allow", "", func(c *Config) *[]netip.Prefix { return &c.Webhooks.Allow },
		"Private networks that webhooks may reach, including over plain http."),

	networks("harvest.allow", "", func(c *Config) *[]netip.Prefix { return &c.Harvest.Allow },
		"Private networks whose hosts may be harvested."),
	duration("harvest.pause", "500ms", restart, 0, time.Minute, func(c *Config) *time.Duration { return &c.Harvest.Pause },
		"Minimum time between two requests to a harvested host; the host's robots.txt can lengthen it."),
	text("harvest.contact", "", restart, func(c *Config) *string { return &c.Harvest.Contact },
		"Mail address or web page sent with each request to a harvested repository."),

	yesNo("segment.gojieba", "false", restart, func(c *Config) *bool { return &c.Segment.Gojieba },
		"Segment Chinese text with the original gojieba, which gives the same words but is slower."),

	yesNo("index.keep_table", "true", restart, func(c *Config) *bool { return &c.Index.KeepTable },
		"Keep the table derived from the index on disk: the site starts ten times faster; each sentence takes 75 to 85 bytes."),
	yesNo("index.stock_segments", "false", restart, func(c *Config) *bool { return &c.Index.StockSegments },
		"Write index files with Bleve's own code, which makes writing about eight times slower and files larger; results are the same."),

	level("log.level", "info", live, func(c *Config) *slog.Level { return &c.Log.Level },
		"Minimum level of logged messages."),
	word("log.format", "text", restart, func(c *Config) *string { return &c.Log.Format },
		"Format of the log.", "text", "json"),
}

// address is a host and port to listen on.
func address(name, def string, field func(*Config) *string, doc string) Key {
	return Key{Name: name, Type: "host:port", Default: def, Live: restart, Doc: doc,
		set: func(c *Config, s string) error {
			if s == "" && def == "" {
				*field(c) = ""
				return nil
			}
			_, port, err := net.SplitHostPort(s)
			if err != nil {
				return fmt.Errorf("want HOST:PORT, such as 127.0.0.1:8420: %w", err)
			}
			if _, err := strconv.ParseUint(port, 10, 16); err != nil {
				return fmt.Errorf("invalid port %q; want a number from 0 to 65535", port)
			}
			*field(c) = s
			return nil
		},
		get: func(c *Config) string { return *field(c) }}
}

// networks is a list of address ranges separated by spaces.
func networks(name, def string, field func(*Config) *[]netip.Prefix, doc string) Key {
	return Key{Name: name, Type: "networks", Default: def, Live: restart, Doc: doc,
		set: func(c *Config, s string) error {
			var out []netip.Prefix
			for _, one := range strings.Fields(s) {
				p, err := netip.ParsePrefix(one)
				if err != nil {
					return fmt.Errorf("invalid network %q; want an address with a prefix length, such as 10.0.0.0/8", one)
				}
				out = append(out, p.Masked())
			}
			*field(c) = out
			return nil
		},
		get: func(c *Config) string {
			var out []string
			for _, p := range *field(c) {
				out = append(out, p.String())
			}
			return strings.Join(out, " ")
		}}
}

func text(name, def string, live bool, field func(*Config) *string, doc string) Key {
	return Key{Name: name, Type: "text", Default: def, Live: live, Doc: doc,
		set: func(c *Config, s string) error {
			if len(s) > 1000 {
				return fmt.Errorf("too long: got %d bytes, want at most 1000", len(s))
			}
			if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
				return errors.New("contains unprintable characters")
			}
			*field(c) = s
			return nil
		},
		get: func(c *Config) string { return *field(c) }}
}

func matching(name, def string, live bool, pattern *regexp.Regexp, field func(*Config) *concordat.SiteID, doc string) Key {
	return Key{Name: name, Type: "name", Default: def, Live: live, Doc: doc,
		set: func(c *Config, s string) error {
			if !pattern.MatchString(s) {
				return fmt.Errorf("%q is not a valid name: want lower-case letters, digits and, after the first character, . _ -; at most 63 characters", s)
			}
			*field(c) = concordat.SiteID(s)
			return nil
		},
		get: func(c *Config) string { return string(*field(c)) }}
}

// libraryPattern matches the library names allowed in a setting. Compiling it takes two milliseconds, so only commands that read such a
// setting compile it.
var libraryPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\p{Nd}][\pL\p{Nd}._-]{0,62}$`) })

func libraryName(name, def string, live bool, field func(*Config) *string, doc string) Key {
	return Key{Name: name, Type: "name", Default: def, Live: live, Doc: doc,
		set: func(c *Config, s string) error {
			if !libraryPattern().MatchString(s) {
				return fmt.Errorf("%q is not a valid library name: want letters, digits and, after the first character, . _ -; at most 63 characters", s)
			}
			*field(c) = s
			return nil
		},
		get: func(c *Config) string { return *field(c) }}
}

func word(name, def string, live bool, field func(*Config) *string, doc string, words ...string) Key {
	return Key{Name: name, Type: oneOf(words), Default: def, Live: live, Doc: doc, Words: words,
		set: func(c *Config, s string) error {
			if err := checkWord(s, words); err != nil {
				return err
			}
			*field(c) = s
			return nil
		},
		get: func(c *Config) string { return *field(c) }}
}

// tongue is a key with a language that the program supports.
func tongue(name, def string, live bool, field func(*Config) *string, doc string) Key {
	return Key{Name: name, Type: "language", Default: def, Live: live, Doc: doc, Words: language.Short(),
		set: func(c *Config, s string) error {
			if err := checkWord(s, language.Short()); err != nil {
				return err
			}
			*field(c) = s
			return nil
		},
		get: func(c *Config) string { return *field(c) }}
}

func checkWord(s string, words []string) error {
	if !slices.Contains(words, s) {
		return fmt.Errorf("invalid value %q; want %s", s, oneOf(words))
	}
	return nil
}

func probe(name, def string, live bool, field func(*Config) *concordat.Probe, doc string) Key {
	probes := []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne}
	words := []string{probes[0].String(), probes[1].String()}
	return Key{Name: name, Type: oneOf(words), Default: def, Live: live, Doc: doc, Words: words,
		set: func(c *Config, s string) error {
			if err := checkWord(s, words); err != nil {
				return err
			}
			*field(c) = probes[slices.Index(words, s)]
			return nil
		},
		get: func(c *Config) string { return field(c).String() }}
}

func list[T ~string](name, def string, live bool, field func(*Config) *[]T, doc string, words ...string) Key {
	kind := "list of text"
	if len(words) > 0 {
		kind = "list of " + oneOf(words)
	}
	return Key{Name: name, Type: kind, Default: def, Live: live, Doc: doc,
		set: func(c *Config, s string) error {
			var all []T
			for item := range strings.SplitSeq(s, ",") {
				if item = strings.TrimSpace(item); item == "" {
					continue
				}
				if len(words) > 0 {
					if err := checkWord(item, words); err != nil {
						return err
					}
				}
				if !slices.Contains(all, T(item)) {
					all = append(all, T(item))
				}
			}
			*field(c) = all
			return nil
		},
		get: func(c *Config) string {
			var all []string
			for _, item := range *field(c) {
				all = append(all, string(item))
			}
			return strings.Join(all, ", ")
		}}
}

func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func number(name, def string, live bool, unit string, least, most int, field func(*Config) *int, doc string) Key {
	return Key{Name: name, Type: fmt.Sprintf("number, %d to %d", least, most), Unit: unit, Default: def, Live: live, Doc: doc,
		Least: strconv.Itoa(least), Most: strconv.Itoa(most),
		set: func(c *Config, s string) error {
			n, err := strconv.Atoi(s)
			if err != nil || n < least || n > most {
				return fmt.Errorf("invalid value %q; want a whole number from %d to %d", s, least, most)
			}
			*field(c) = n
			return nil
		},
		get: func(c *Config) string { return strconv.Itoa(*field(c)) }}
}

func share(name, def string, live bool, field func(*Config) *float64, doc string) Key {
	return Key{Name: name, Type: "number, 0 to 1", Unit: "share", Default: def, Live: live, Doc: doc,
		set: func(c *Config, s string) error {
			x, err := strconv.ParseFloat(s, 64)
			if err != nil || math.IsNaN(x) || x < 0 || x > 1 {
				return fmt.Errorf("invalid value %q; want a number from 0 to 1", s)
			}
			*field(c) = x
			return nil
		},
		get: func(c *Config) string { return strconv.FormatFloat(*field(c), 'g', -1, 64) }}
}

// threshold is a key with a non-zero share.
func threshold(name, def string, live bool, field func(*Config) *float64, doc string) Key {
	k := share(name, def, live, field, doc)
	k.Type = "number above 0, at most 1"
	set := k.set
	k.set = func(c *Config, s string) error {
		if x, err := strconv.ParseFloat(s, 64); err == nil && x == 0 {
			return fmt.Errorf("invalid value %q; want a number above 0", s)
		}
		return set(c, s)
	}
	return k
}

func yesNo(name, def string, live bool, field func(*Config) *bool, doc string) Key {
	return Key{Name: name, Type: yesNoType, Default: def, Live: live, Doc: doc, Words: []string{"true", "false"},
		set: func(c *Config, s string) error {
			if s != "true" && s != "false" {
				return fmt.Errorf("invalid value %q; want true or false", s)
			}
			*field(c) = s == "true"
			return nil
		},
		get: func(c *Config) string { return strconv.FormatBool(*field(c)) }}
}

func duration(name, def string, live bool, least, most time.Duration, field func(*Config) *time.Duration, doc string) Key {
	return Key{Name: name, Type: "duration, " + short(least) + " to " + short(most), Unit: "s, m, h", Default: def, Live: live, Doc: doc,
		set: func(c *Config, s string) error {
			d, err := time.ParseDuration(s)
			if err != nil || d < least || d > most {
				return fmt.Errorf("invalid duration %q; want a value such as 90s or 2m, from %s to %s", s, short(least), short(most))
			}
			*field(c) = d
			return nil
		},
		get: func(c *Config) string { return short(*field(c)) }}
}

// short formats d without trailing zero parts: 2m instead of 2m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

var units = []struct {
	name  string
	bytes int64
}{{"GiB", gib}, {"MiB", mib}, {"KiB", kib}, {"B", 1}, {"", 1}}

func size(name, def string, live bool, least, most int64, field func(*Config) *int64, doc string) Key {
	return Key{Name: name, Type: "size, " + bytesText(least) + " to " + bytesText(most), Unit: "B, KiB, MiB, GiB", Default: def, Live: live,
		Doc: doc,
		set: func(c *Config, s string) error {
			n, ok := parseSize(s)
			if !ok || n < least || n > most {
				return fmt.Errorf("invalid size %q; want a value such as 64MiB, from %s to %s", s, bytesText(least), bytesText(most))
			}
			*field(c) = n
			return nil
		},
		get: func(c *Config) string { return bytesText(*field(c)) }}
}

func parseSize(s string) (int64, bool) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		return n * u.bytes, err == nil && n >= 0 && n <= math.MaxInt64/u.bytes
	}
	return 0, false
}

// bytesText formats n in the largest unit that divides it.
func bytesText(n int64) string {
	for _, u := range units {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

func level(name, def string, live bool, field func(*Config) *slog.Level, doc string) Key {
	words := []string{"debug", "info", "warn", "error"}
	return Key{Name: name, Type: oneOf(words), Default: def, Live: live, Doc: doc, Words: words,
		set: func(c *Config, s string) error {
			if err := checkWord(s, words); err != nil {
				return err
			}
			return field(c).UnmarshalText([]byte(s))
		},
		get: func(c *Config) string { return strings.ToLower(field(c).String()) }}
}
