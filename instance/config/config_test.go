package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/profile"
	"concordat/report"
	"concordat/segment"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the table of doc/config.md")

// load is like loadCentral with only the file and the environment.
func load(text []byte, path string, env Lookup) (*Config, error) {
	return loadCentral(text, path, Central{}, env)
}

// write creates a file in a new folder and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "concordat.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustLoad(t *testing.T, path string, env map[string]string) *Config {
	t.Helper()
	c, err := Load(path, lookup(env))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func lookup(env map[string]string) Lookup {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

func TestDefaults(t *testing.T) {
	c := mustLoad(t, "", nil)
	if c.Check.Threshold != 0.3 || c.Check.Probe != concordat.ProbeOne || c.Check.Forward != "unmatched" ||
		c.Scheme != "natural" || c.Log.Level != slog.LevelInfo || c.Extract.MaxInput != 256<<20 ||
		c.Extract.Wall != 2*time.Minute || c.Report.Rules.ExcludeKinds != nil {
		t.Errorf("got %+v", c)
	}
	for _, r := range c.Rows() {
		if r.Origin != (Origin{}) {
			t.Errorf("%s comes from %s, want default", r.Key, r.Origin)
		}
	}
	for _, empty := range []string{"", "# nothing\n", "---\n", "check:\n", "check: {}\ntemplates:\n"} {
		if d := Diff(c, mustLoad(t, write(t, empty), nil)); d != nil {
			t.Errorf("%q: got changes %v", empty, d)
		}
	}
}

// TestKeysRoundTrip: each default has the form of printed values, and setting a printed value changes nothing.
func TestKeysRoundTrip(t *testing.T) {
	for _, k := range keys {
		c := Default()
		if got := k.get(c); got != k.Default {
			t.Errorf("%s: default %q is printed as %q", k.Name, k.Default, got)
		}
		if err := k.set(c, k.get(c)); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
		if k.Doc == "" || k.Type == "" {
			t.Errorf("%s is not described", k.Name)
		}
	}
}

// TestAgreement: values are the same here and in the packages that use them.
func TestAgreement(t *testing.T) {
	if got := Default().Report.Rules.CommonAbove; got != report.DefaultCommonAbove {
		t.Errorf("report.common_above is %d by default, in report it is %d", got, report.DefaultCommonAbove)
	}
	for _, k := range keys {
		if k.Name != "scheme" {
			continue
		}
		for _, name := range []string{profile.Natural, profile.Packed, profile.NaturalSimhash, profile.PackedSimhash} {
			if err := k.set(Default(), name); err != nil {
				t.Errorf("scheme: %v", err)
			}
		}
		if _, err := profile.New(profile.Options{Recipe: k.Default}); err != nil {
			t.Errorf("scheme: %v", err)
		}
	}
}

const full = `
site: {id: north, title: "北方 University"}
scheme: packed-simhash
check:
  threshold: 0.25
  probe: exact
  forward: none
  short: true
  short_threshold: 0.7
  again_days: 30
meaning: {leads: on, partners: on, batches: on, index: true, encoder: {url: 'https://encoder.example.edu/v1', model: e5, prefix: 'query: ', key_file: encoder.key, batch: 16,
  timeout: 5s, dimensions: 384, keep: 5000, allow_text_to_leave: true, run: 'off', command: '', memory: 1GiB, processors: 2}}
report:
  language: zh
  certificate: chain.pem
  key: key.pem
  exclude_quotes: true
  exclude_bibliography: true
  exclude_citations: true
  count_forms: true
  count_templates: true
  count_quotations: true
  count_sentences: true
  exclude_groups: [uncited, unsourced]
  exclude_kinds: [summary, common]
  exclude_sections: budget, 经费
  min_characters: 10
  min_source_share: 1e-2
  common_above: -1
extract:
  max_input: 64MiB
  max_text: 1024
  max_unpacked: 1GiB
  max_pages: 10
  max_entries: 11
  max_ratio: 12
  max_depth: 13
  max_nesting: 1
  wall: 90s
  cpu: 1h
  memory: 512 MiB
  ocr: eng+chi_sim
webhooks: {allow: '10.0.0.0/8 fd00::/8'}
harvest: {allow: '10.3.0.0/16', pause: 2s, contact: library@example.edu}
wording: {stock: stock.txt}
serve: {listen: '[::1]:0', metrics: '127.0.0.1:9100', low_water: 5MiB, public: true, trusted_proxies: [10.1.2.3/8, '::1'], session_idle: 30m, api_calls: 60, url: 'https://check.example.edu/'}
login:
  password: administrators
  oidc:
    - {name: university, issuer: 'https://id.example.edu', client_id: check, default_role: submitter, create: true}
lti: {learners: true, private_addresses: true}
federation: {listen: ':8421', behind_proxy: true, allow: 10.2.0.0/16}
cluster: {coordinator: 'http://127.0.0.1:8430', node: a, zone: east, listen: ':8422', address: '10.0.0.1:8422'}
submitters: {see: score, from: signed}
quota: {documents: 5, bytes: 1MiB, characters: 6, open: 7}
public: {documents: 8, bytes: 2MiB, characters: 9, open: 11, queue: 12, accounts: 13, registrations: 14}
submissions: {add: verdict, library: theses}
retention: {reports_days: 15, texts_days: 16, originals_days: 17, no_store: true, cited: withhold, accepted_days: 3650, rejected_days: 30,
  withdrawn_days: 31}
log: {level: debug, format: json}
store: {url: 'postgres://ada@db/site', password_file: secret}
backup: {recipients: [age1vxx2wxzwl9tdrv9jtjqmt9x3qlt24d562e7pvvn8na4xxnjsk38st968nd]}
segment: {gojieba: true}
index: {keep_table: false, stock_segments: true}
templates:
  - name: thesis
    path: sub/thesis.txt
  - name: proposal
    sections:
      - {name: rationale, heading: '^1\.'}
      - {name: budget, heading: Budget, skip: true}
`

func TestFull(t *testing.T) {
	path := write(t, full)
	dir := filepath.Dir(path)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	thesis := "# a comment\n\nabstract = ^Abstract$\r\nreferences! = ^References$"
	if err := os.WriteFile(filepath.Join(dir, "sub", "thesis.txt"), []byte(thesis), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mustLoad(t, path, nil)
	got := map[string]string{}
	for _, r := range c.Rows() {
		got[r.Key] = r.Value
		if r.Origin.File != path || r.Origin.Line < 2 {
			t.Errorf("%s comes from %s, want a line of the file", r.Key, r.Origin)
		}
	}
	want := map[string]string{
		"site.id": "north", "site.title": "北方 University", "scheme": "packed-simhash",
		"check.threshold": "0.25", "check.probe": "exact", "check.forward": "none",
		"check.short": "true", "check.short_threshold": "0.7", "check.again_days": "30", "report.language": "zh",
		"wording.stock":      "stock.txt",
		"report.certificate": "chain.pem", "report.key": "key.pem", "report.exclude_citations": "true", "report.count_forms": "true",
		"report.count_templates":  "true",
		"report.count_quotations": "true",
		"report.count_sentences":  "true",
		"report.exclude_groups":   "uncited, unsourced",
		"report.exclude_quotes":   "true", "report.exclude_bibliography": "true",
		"report.exclude_kinds": "summary, common", "report.exclude_sections": "budget, 经费", "report.min_characters": "10",
		"report.min_source_share": "0.01", "report.common_above": "-1", "extract.max_input": "64MiB",
		"extract.max_text": "1KiB", "extract.max_unpacked": "1GiB", "extract.max_pages": "10",
		"extract.max_entries": "11", "extract.max_ratio": "12", "extract.max_depth": "13", "extract.max_nesting": "1",
		"extract.wall": "1m30s", "extract.cpu": "1h", "extract.memory": "512MiB", "extract.ocr": "eng+chi_sim", "serve.listen": "[::1]:0",
		"serve.metrics": "127.0.0.1:9100", "serve.low_water": "5MiB", "federation.listen": ":8421",
		"cluster.coordinator": "http://127.0.0.1:8430", "cluster.node": "a", "cluster.zone": "east", "cluster.listen": ":8422",
		"cluster.address": "10.0.0.1:8422", "federation.behind_proxy": "true", "federation.allow": "10.2.0.0/16",
		"webhooks.allow": "10.0.0.0/8 fd00::/8", "harvest.allow": "10.3.0.0/16", "harvest.pause": "2s",
		"harvest.contact": "library@example.edu",
		"log.level":       "debug",
		"log.format":      "json", "segment.gojieba": "true", "index.keep_table": "false", "index.stock_segments": "true",
		"serve.public": "true", "serve.trusted_proxies": "10.0.0.0/8, ::1/128", "serve.session_idle": "30m", "serve.api_calls": "60",
		"submissions.add": "verdict", "submissions.library": "theses",
		"submitters.see": "score", "submitters.from": "signed",
		"quota.documents": "5", "quota.bytes": "1MiB", "quota.characters": "6", "quota.open": "7",
		"public.documents": "8", "public.bytes": "2MiB", "public.characters": "9", "public.open": "11", "public.queue": "12",
		"public.accounts": "13", "public.registrations": "14",
		"retention.reports_days": "15", "retention.texts_days": "16", "retention.originals_days": "17", "retention.no_store": "true",
		"retention.accepted_days": "3650", "retention.rejected_days": "30", "retention.withdrawn_days": "31",
		"retention.cited": "withhold",
		"store.url":       "postgres://ada@db/site", "store.password_file": "secret",
		"backup.recipients": "age1vxx2wxzwl9tdrv9jtjqmt9x3qlt24d562e7pvvn8na4xxnjsk38st968nd",
		"serve.url":         "https://check.example.edu", "login.password": "administrators", "meaning.leads": "on",
		"meaning.partners": "on", "meaning.batches": "on",
		"meaning.index":       "true",
		"meaning.encoder.url": "https://encoder.example.edu/v1", "meaning.encoder.model": "e5", "meaning.encoder.prefix": "query: ",
		"meaning.encoder.key_file": "encoder.key", "meaning.encoder.batch": "16", "meaning.encoder.timeout": "5s",
		"meaning.encoder.run": "off", "meaning.encoder.command": "", "meaning.encoder.memory": "1GiB", "meaning.encoder.processors": "2",
		"meaning.encoder.dimensions": "384", "meaning.encoder.keep": "5000", "meaning.encoder.allow_text_to_leave": "true",
		"lti.learners": "true", "lti.private_addresses": "true",
		"login.oidc.university": "https://id.example.edu client check, no secret, creates accounts, default role submitter",
		"templates.proposal":    `rationale /^1\./; budget /Budget/ skip`,
		"templates.thesis":      "abstract /^Abstract$/; references /^References$/ skip",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if c.Check.Probe != concordat.ProbeExact || c.Extract.CPU != time.Hour || c.Log.Level != slog.LevelDebug ||
		!c.Templates[0].Sections[1].Skip || c.Templates[1].Sections[0].Skip || !c.Templates[1].Sections[1].Skip {
		t.Errorf("got %+v", c)
	}
}

func TestOrigins(t *testing.T) {
	path := write(t, "check:\n  threshold: 0.5\n  forward: all\n")
	c := mustLoad(t, path, map[string]string{
		"CONCORDAT_CHECK_THRESHOLD": "0.7", "CONCORDAT_REPORT_EXCLUDE_KINDS": "common,summary", "CONCORDAT_SITE_TITLE": ""})
	want := map[string][2]string{
		"check.threshold": {"0.7", "$CONCORDAT_CHECK_THRESHOLD"}, "check.forward": {"all", path + ":3"},
		"check.probe": {"one", "default"}, "report.exclude_kinds": {"common, summary", "$CONCORDAT_REPORT_EXCLUDE_KINDS"},
		"site.title": {"", "$CONCORDAT_SITE_TITLE"},
	}
	for _, r := range c.Rows() {
		if w, ok := want[r.Key]; ok && w != [2]string{r.Value, r.Origin.String()} {
			t.Errorf("%s: got %q from %s, want %q", r.Key, r.Value, r.Origin, w)
		}
	}
	var out bytes.Buffer
	if err := c.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(keys)+1 {
		t.Errorf("got %d lines, want a head and %d keys", len(lines), len(keys))
	}
	for _, want := range [][]string{
		{"check.threshold", "0.7", "$CONCORDAT_CHECK_THRESHOLD", "live"},
		{"scheme", "natural", "default", "restart"},
		{"site.title", "-", "$CONCORDAT_SITE_TITLE", "live"},
	} {
		found := false
		for _, line := range lines {
			found = found || cmp.Equal(strings.Fields(line), want)
		}
		if !found {
			t.Errorf("no line %q in\n%s", want, &out)
		}
	}
}

// TestFaults: all faults are reported at once, each with its line and key.
func TestFaults(t *testing.T) {
	path := write(t, `site:
  id: North Pole
  name: x
chekc: {}
check:
  threshold: 1.5
  probe: two
  threshold: 0.1
  forward:
  min_match: [1]
report: true
extract:
  max_input: -1MiB
  max_text: 1GB
  wall: 2
log: &anchor
  level: loud
scheme: best
report.exclude_quotes: true
site.title: "a\tb"
templates:
  - name: one
    sections: [{name: a, heading: '('}, {name: b}, {name: c, heading: 'x*'}]
  - sections: [{name: a, heading: b}]
  - name: two
    path: missing.yaml
  - name: three
    sections: [{name: a, heading: b}, {name: a, heading: }]
  - {name: four, sections: [{name: a, heading: b, skp: true}]}
  - {name: five, path: x, sections: [{name: a, heading: b}]}
  - {name: six, sections: [{name: a, heading: b}]}
  - {name: six, sections: [{name: a, heading: b, skip: yes}]}
  - {name: six, sections: [{name: a, heading: b}]}
`)
	_, err := Load(path, lookup(map[string]string{"CONCORDAT_SCHEME": "many"}))
	var faults Faults
	if !errors.As(err, &faults) || !errors.Is(err, concordat.ErrInvalid) {
		t.Fatalf("got %v, want Faults that are concordat.ErrInvalid", err)
	}
	var got []string
	for _, f := range faults {
		if f.Problem == "" {
			t.Errorf("%s: no problem named", f)
		}
		got = append(got, strings.TrimPrefix(fmt.Sprintf("%s:%d %s", f.File, f.Line, f.Key), path+":"))
	}
	want := []string{
		"2 site.id", "3 site.name", "4 chekc", "6 check.threshold", "7 check.probe", "8 check", "9 check.forward",
		"10 check.min_match", "11 report", "13 extract.max_input", "14 extract.max_text", "15 extract.wall",
		"17 log.level", "18 scheme", "19 report.exclude_quotes", "20 site.title",
		"23 templates[0].sections[0].heading", "23 templates[0].sections[1]", "23 templates[0].sections[2].heading",
		"24 templates[1]", "26 templates[2].path", "28 templates[3].sections[1].heading", "29 templates[4].sections[0].skp",
		"30 templates[5]", "32 templates[7].sections[0].skip", "33 templates[8]", "$CONCORDAT_SCHEME:0 scheme",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
		t.Log(err)
	}
}

// TestShippedTemplates: the built-in templates can also be given as files, with the same meaning.
func TestShippedTemplates(t *testing.T) {
	files, err := filepath.Glob("../../segment/data/templates/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		c := mustLoad(t, write(t, fmt.Sprintf("templates: [{name: %s, path: %q}]", name, path)), nil)
		var got []segment.Heading
		for _, s := range c.Templates[0].Sections {
			got = append(got, segment.Heading{Section: s.Name, Pattern: s.Heading, Skip: s.Skip})
		}
		byText := cmp.Comparer(func(a, b *regexp.Regexp) bool { return a.String() == b.String() })
		if d := cmp.Diff(segment.Templates()[name].Headings, got, byText); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestTemplateFileFaults(t *testing.T) {
	file := write(t, "# comment\na = b\nno equals sign\n = c\nd = (\ne =\n")
	_, err := Load(write(t, fmt.Sprintf("templates: [{name: x, path: %q}]", file)), nil)
	var faults Faults
	if !errors.As(err, &faults) {
		t.Fatalf("got %v, want Faults", err)
	}
	var got []int
	for _, f := range faults {
		if f.File != file {
			t.Errorf("got file %s, want %s", f.File, file)
		}
		got = append(got, f.Line)
	}
	if d := cmp.Diff([]int{3, 4, 5, 6}, got); d != "" {
		t.Error(d)
	}
}

func TestNotYAML(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	for name, text := range map[string]string{
		"syntax": "check: [", "two documents": "scheme: packed\n---\nscheme: natural\n", "list": "- a\n", "scalar": "hello",
		"tab": "check:\n\tthreshold: 1", "alias": "site: &x {id: a}\nlog: *x\n", "merge": "site:\n  <<: {id: a}\n",
		"bomb": bomb, "bytes": "\xff\xfe\x00", "large": "#" + strings.Repeat("x", MaxFile),
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := Load(write(t, text), nil); err == nil {
				t.Errorf("got %+v, want an error", c)
			}
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no such file", err)
	}
}

func TestDiff(t *testing.T) {
	a := mustLoad(t, write(t,
		"check: {threshold: 0.5}\ntemplates:\n- {name: x, sections: [{name: a, heading: b}]}\n- {name: y, sections: [{name: a, heading: b}]}\n"), nil)
	b := mustLoad(t, write(t,
		"scheme: packed\ncheck:\n  threshold: 5e-1\ntemplates:\n- {name: y, sections: [{name: a, heading: b, skip: true}]}\n- {name: z, sections: [{name: a, heading: b}]}\n"), nil)
	if d := Diff(a, a); d != nil {
		t.Errorf("got %v, want none", d)
	}
	want := []Change{
		{Key: "scheme", Old: "natural", New: "packed"},
		{Key: "templates.y", Old: "a /b/", New: "a /b/ skip", Live: true},
		{Key: "templates.z", New: "a /b/", Live: true},
		{Key: "templates.x", Old: "a /b/", Live: true},
	}
	if d := cmp.Diff(want, Diff(a, b)); d != "" {
		t.Error(d)
	}
}

// TestEncoder: an encoder is checked with all its settings, and a fault is reported at the key concerned.
func TestEncoder(t *testing.T) {
	for text, want := range map[string]string{
		"meaning: {encoder: {url: 'http://127.0.0.1:1/v1'}}":                           "",
		"meaning: {encoder: {url: 'https://e.example.edu'}}":                           "meaning.encoder.url: texts would be sent to e.example.edu, which is another machine",
		"meaning: {encoder: {url: 'http://e.example.edu', allow_text_to_leave: true}}": "plain http",
		"meaning: {encoder: {url: 'https://e.example.edu', allow_text_to_leave: true, model: '" + strings.Repeat("m", 300) +
			"'}}": "longer",
		"meaning: {encoder: {url: nowhere}}":                                        "want an address",
		"meaning: {encoder: {url: 'http://127.0.0.1:1/v1', command: 'e {socket}'}}": "meaning.encoder.url is set",
		"meaning: {encoder: {batch: 0}}":                                            "meaning.encoder.batch",
		"meaning: {encoder: {allow_text: yes}}":                                     "unknown key",
	} {
		_, err := load([]byte(text), "concordat.yaml", nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestDocument: the document agrees with the code. The table between the marks is the one generated from the keys, and the example loads.
func TestDocument(t *testing.T) {
	const path = "../../doc/config.md"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin := bytes.Index(doc, []byte("-rewrite -->\n"))
	end := bytes.Index(doc, []byte("<!-- end -->"))
	if begin < 0 || end < begin {
		t.Fatal("the marks of the table are gone")
	}
	begin += len("-rewrite -->\n")
	if *rewrite {
		doc = append(append(append([]byte{}, doc[:begin]...), table()...), doc[end:]...)
		if err := os.WriteFile(path, doc, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(table(), string(doc[begin:end])); d != "" {
		t.Errorf("run with -rewrite and review:\n%s", d)
	}

	_, example, ok := strings.Cut(string(doc), "```yaml\n")
	example, _, ok2 := strings.Cut(example, "```")
	if !ok || !ok2 {
		t.Fatal("no example")
	}
	file := write(t, example)
	if err := os.Mkdir(filepath.Join(filepath.Dir(file), "templates"), 0o700); err != nil {
		t.Fatal(err)
	}
	thesis := "abstract = ^Abstract$"
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "templates", "thesis.txt"), []byte(thesis), 0o600); err != nil {
		t.Fatal(err)
	}
	mustLoad(t, file, nil)
}

func table() string {
	var b strings.Builder
	b.WriteString("| key | value and default | meaning |\n|---|---|---|\n")
	for _, k := range keys {
		name, value := "`"+k.Name+"`", k.Type
		if !k.Live {
			name += "\\*"
		}
		if k.Unit != "" && !strings.Contains(k.Unit, ",") { // the units of sizes and durations are explained above the table
			value += " (" + k.Unit + ")"
		}
		switch {
		case k.Type == yesNoType: // the default shows the type
			value = "`" + k.Default + "`"
		case k.Default != "":
			value += ": `" + k.Default + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, value, k.Doc)
	}
	return b.String()
}

// FuzzLoad: no text makes Load panic, and a configuration that Load accepts can be printed and loaded again.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("check:\n  threshold: 0.5\n"))
	f.Add([]byte("a: &a [*a]\n<<: *a\n? [x]\n: y\n"))
	f.Add([]byte("templates: [{name: a, sections: [{name: b, heading: c}]}]"))
	f.Add([]byte("site: !!binary aGVsbG8=\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Contains(text, []byte("path")) || bytes.Contains(text, []byte("secret_file")) {
			t.Skip("reads other files")
		}
		c, err := load(text, "", nil)
		if err != nil {
			return
		}
		d := Default()
		for _, k := range keys {
			if err := k.set(d, k.get(c)); err != nil {
				t.Errorf("%s: %q is taken but not taken again: %v", k.Name, k.get(c), err)
			}
		}
		d.Templates = c.Templates
		if diff := Diff(c, d); diff != nil {
			t.Errorf("got changes %v", diff)
		}
	})
}
