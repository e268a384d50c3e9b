package harvest_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/harvest"
	"concordat/harvest/fetch"
	"concordat/site"
	"concordat/store"
)

// testIntake adds plain text to the catalogue of a store. It is safe for concurrent use.
type testIntake struct {
	db  *store.DB
	dir string

	mu      sync.Mutex
	puts    map[concordat.DocumentID]int
	removed []string
	fail    func() error // if not nil, called before a document is added
}

func (i *testIntake) Spool() (*os.File, error) { return os.CreateTemp(i.dir, "spool-*") }

func (i *testIntake) Read(_ context.Context, id concordat.DocumentID, name string, f *os.File, _ int64) ([]site.Incoming, error) {
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(b), "unreadable") {
		return nil, errors.New("it is damaged")
	}
	return []site.Incoming{{ID: id, Title: name, Text: string(b)}}, nil
}

func (i *testIntake) Put(ctx context.Context, lib concordat.LibraryID, docs []site.Incoming) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, d := range docs {
		if i.fail != nil {
			if err := i.fail(); err != nil {
				return err
			}
		}
		sum := sha256.Sum256([]byte(d.Text))
		row := store.DocumentRow{Library: lib, ID: d.ID, Title: d.Title, Author: d.Author, Hash: hex.EncodeToString(sum[:]),
			Scheme: "s@1", Added: at,
			Dated: d.Dated, DatedBy: d.DatedBy, Bytes: int64(len(d.Text))}
		if err := i.db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row}); err != nil {
			return err
		}
		i.puts[d.ID]++
	}
	return nil
}

func (i *testIntake) Remove(ctx context.Context, source string, lib concordat.LibraryID, ids []concordat.DocumentID, reason string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, id := range ids {
		i.removed = append(i.removed, string(id)+": "+reason)
	}
	return i.db.Catalogue.DeleteDocuments(ctx, lib, ids...)
}

var at = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// place is a test site whose clock advances only during pauses.
type place struct {
	t      *testing.T
	db     *store.DB
	intake *testIntake
	runner *harvest.Runner

	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (p *place) clock() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

func (p *place) sleep(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now, p.slept = p.now.Add(d), append(p.slept, d)
	return ctx.Err()
}

func newPlace(t *testing.T) *place {
	p := &place{t: t, now: at}
	db, err := store.Options{Now: p.clock}.Open(t.Context(), filepath.Join(t.TempDir(), "site.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "theses", Created: at}); err != nil {
		t.Fatal(err)
	}
	p.db, p.intake = db, &testIntake{db: db, dir: t.TempDir(), puts: map[concordat.DocumentID]int{}}
	p.restart()
	return p
}

// restart replaces the process of the site after the old one's claim has expired.
func (p *place) restart() {
	p.mu.Lock()
	p.now = p.now.Add(time.Minute)
	p.mu.Unlock()
	p.runner = harvest.New(harvest.Options{Store: p.db, Intake: p.intake, Fetch: p.fetcher(), Logger: slog.New(slog.DiscardHandler),
		Now:   p.clock,
		Sleep: p.sleep, MaxFile: 1 << 20})
}

func (p *place) fetcher() *fetch.Client {
	return fetch.New(fetch.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Agent: "concordat/test",
		Pause: time.Second, Now: p.clock, Sleep: p.sleep})
}

func (p *place) add(spec harvest.Spec) {
	p.t.Helper()
	spec.ID, spec.Library = "repo", "theses"
	h, err := harvest.NewSource(spec, p.fetcher(), true, p.clock())
	if err == nil {
		err = p.db.Harvest.AddSource(p.t.Context(), h)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) run() {
	p.t.Helper()
	if err := p.runner.Run(p.t.Context(), "repo"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) records() map[string]store.HarvestRecord {
	p.t.Helper()
	all, err := p.db.Harvest.ListRecords(p.t.Context(), "repo", "", "", 0)
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[string]store.HarvestRecord{}
	for _, r := range all {
		out[r.ID] = r
	}
	return out
}

// want compares the states of records and the documents of the library.
func (p *place) want(states map[string]store.HarvestRecordState, documents ...string) {
	p.t.Helper()
	got := map[string]store.HarvestRecordState{}
	for id, r := range p.records() {
		got[id] = r.State
	}
	if !maps.Equal(got, states) {
		p.t.Errorf("records %v, want %v", got, states)
	}
	rows, err := p.db.Catalogue.Documents(p.t.Context(), "theses", "", 0)
	if err != nil {
		p.t.Fatal(err)
	}
	var have []string
	for _, r := range rows {
		have = append(have, string(r.ID))
	}
	if !slices.Equal(have, documents) {
		p.t.Errorf("documents %q, want %q", have, documents)
	}
}

// repository is a scripted OAI-PMH server. Its fields are guarded by mu.
type repository struct {
	*httptest.Server
	mu      sync.Mutex
	now     time.Time
	items   []item
	page    int
	deleted string
	day     bool
	robots  string
	files   map[string]http.HandlerFunc
	faults  func(r *http.Request) (code int, header http.Header, body string) // called first; the repository answers if code is 0
	asked   []url.Values
	dead    map[string]bool   // resumption tokens that have expired
	alone   map[string]string // metadata of individually requested records
	tokens  int
}

type item struct {
	id, stamp string
	deleted   bool
	metadata  string
}

func newRepository(t *testing.T) *repository {
	r := &repository{now: at, page: 3, deleted: "persistent", files: map[string]http.HandlerFunc{}, dead: map[string]bool{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// text adds a file and returns its address.
func (r *repository) text(path, text string) string {
	r.files[path] = func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(rw, text)
	}
	return r.URL + path
}

func (r *repository) put(id, metadata string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := item{id: id, stamp: r.now.Format(time.RFC3339), metadata: metadata, deleted: metadata == ""}
	if i := slices.IndexFunc(r.items, func(x item) bool { return x.id == id }); i >= 0 {
		r.items[i] = n
		return
	}
	r.items = append(r.items, n)
}

func dc(elements ...string) string {
	return `<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">` +
		strings.Join(elements, "") + `</oai_dc:dc>`
}

func el(name, text string) string { return "<dc:" + name + ">" + text + "</dc:" + name + ">" }

func (r *repository) ServeHTTP(rw http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.faults != nil {
		if code, h, body := r.faults(q); code != 0 {
			maps.Copy(rw.Header(), h)
			rw.WriteHeader(code)
			_, _ = io.WriteString(rw, body)
			return
		}
	}
	switch f := r.files[q.URL.Path]; {
	case q.URL.Path == "/robots.txt":
		_, _ = io.WriteString(rw, r.robots)
	case f != nil:
		f(rw, q)
	case q.URL.Path == "/oai":
		r.asked = append(r.asked, q.URL.Query())
		rw.Header().Set("Content-Type", "text/xml")
		_, _ = fmt.Fprintf(rw,
			`<?xml version="1.0" encoding="UTF-8"?><OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><responseDate>%s</responseDate>%s</OAI-PMH>`,
			r.now.Format(time.RFC3339), r.answer(q.URL.Query()))
	default:
		http.NotFound(rw, q)
	}
}

func (r *repository) answer(q url.Values) string {
	granularity := "YYYY-MM-DDThh:mm:ssZ"
	if r.day {
		granularity = "YYYY-MM-DD"
	}
	switch q.Get("verb") {
	case "Identify":
		return "<Identify><repositoryName>Test &amp; Co</repositoryName><protocolVersion>2.0</protocolVersion><earliestDatestamp>2000-01-01</earliestDatestamp><deletedRecord>" +
			r.deleted + "</deletedRecord><granularity>" + granularity + "</granularity></Identify>"
	case "ListMetadataFormats":
		return "<ListMetadataFormats><metadataFormat><metadataPrefix>oai_dc</metadataPrefix></metadataFormat></ListMetadataFormats>"
	case "ListRecords":
		return r.list(q)
	case "GetRecord":
		if m, ok := r.alone[q.Get("identifier")]; ok && q.Get("metadataPrefix") == "oai_dc" {
			return "<GetRecord><record><header><identifier>" + q.Get("identifier") + "</identifier><datestamp>2026-11-01</datestamp></header><metadata>" +
				m + "</metadata></record></GetRecord>"
		}
		return `<error code="idDoesNotExist"/>`
	}
	return `<error code="badVerb"/>`
}

func (r *repository) list(q url.Values) string {
	begin, from := 0, q.Get("from")
	if t := q.Get("resumptionToken"); t != "" {
		if r.dead[t] {
			return `<error code="badResumptionToken">it has expired</error>`
		}
		fields := strings.Split(t, "|")
		begin, _ = strconv.Atoi(fields[0])
		from = fields[1]
	} else if from != "" && (len(from) == len(time.DateOnly)) != r.day {
		return `<error code="badArgument">granularity</error>`
	}
	var fit []item
	for _, x := range r.items {
		if x.stamp >= from {
			fit = append(fit, x)
		}
	}
	if len(fit) == 0 {
		return `<error code="noRecordsMatch"/>`
	}
	var b strings.Builder
	b.WriteString("<ListRecords>")
	for _, x := range fit[min(begin, len(fit)):min(begin+r.page, len(fit))] {
		status, metadata := "", "<metadata>"+x.metadata+"</metadata>"
		if x.deleted {
			status, metadata = ` status="deleted"`, ""
		}
		fmt.Fprintf(&b, "<record><header%s><identifier>%s</identifier><datestamp>%s</datestamp></header>%s</record>", status, x.id,
			x.stamp, metadata)
	}
	if begin+r.page < len(fit) {
		r.tokens++
		fmt.Fprintf(&b, `<resumptionToken completeListSize="%d">%d|%s|%d</resumptionToken>`, len(fit), begin+r.page, from, r.tokens)
	} else if begin > 0 {
		b.WriteString("<resumptionToken/>")
	}
	b.WriteString("</ListRecords>")
	return b.String()
}

// lists returns the given argument of each list request.
func (r *repository) lists(argument string) (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.asked {
		if q.Get("verb") == "ListRecords" {
			out = append(out, q.Get(argument))
		}
	}
	return out
}

// TestLife: records appear with their metadata, change and disappear; unchanged texts are not fetched again.
func TestLife(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	for _, n := range []string{"1", "2", "3", "4"} {
		repo.put("oai:r:"+n, dc(el("title", "Thesis "+n), el("creator", "Roe, Jane"), el("creator",
			"https://orcid.org/0000-0002-1825-0097"),
			el("date", "2019-03"), el("rights", "https://creativecommons.org/licenses/by/4.0/"), el("identifier",
				"https://doi.org/10.5072/T"+n),
			el("identifier", repo.URL+"/items/"+n), el("identifier", repo.text("/files/"+n+".txt", "The text of "+n))))
	}
	p.add(harvest.Spec{URL: repo.URL, Every: 24 * time.Hour})
	p.run()
	kept := store.RecordKept
	p.want(map[string]store.HarvestRecordState{"oai:r:1": kept, "oai:r:2": kept, "oai:r:3": kept, "oai:r:4": kept},
		"oai:r:1", "oai:r:2", "oai:r:3", "oai:r:4")
	works, err := p.db.Harvest.Works(t.Context(), "theses", []concordat.DocumentID{"oai:r:2"})
	w := works["oai:r:2"]
	if err != nil || w.Title != "Thesis 2" || w.Creators[0] != (concordat.Creator{Name: "Roe, Jane", ORCID: "0000-0002-1825-0097"}) ||
		w.Date != "2019-03" || w.License != "https://creativecommons.org/licenses/by/4.0/" || w.Page != repo.URL+"/items/2" ||
		w.IDs[0].URL() != "https://doi.org/10.5072/t2" || w.Repository != "Test & Co" {
		t.Errorf("work %+v, %v", w, err)
	}
	h, err := p.db.Harvest.Source(t.Context(), "repo")
	if err != nil || h.State.Phase != "" || h.State.Listed != 4 || h.State.Base != repo.URL+"/oai" ||
		!h.Next.Equal(h.State.Started.Add(24*time.Hour)) {
		t.Errorf("source %+v, %v", h, err)
	}

	repo.now = repo.now.Add(24 * time.Hour)
	repo.put("oai:r:2", "")
	repo.put("oai:r:3", dc(el("title", "Thesis 3, second edition"), el("identifier", repo.text("/files/3b.txt", "Another text"))))
	repo.put("oai:r:5", dc(el("title", "Thesis 5"), el("identifier", repo.text("/files/5.txt", "The text of 5"))))
	repo.asked = nil
	p.run()
	p.want(map[string]store.HarvestRecordState{"oai:r:1": kept, "oai:r:2": store.RecordWithdrawn, "oai:r:3": kept, "oai:r:4": kept,
		"oai:r:5": kept},
		"oai:r:1", "oai:r:3", "oai:r:4", "oai:r:5")
	if from := repo.lists("from"); !slices.Equal(from, []string{"2026-11-20T08:00:00Z", ""}) {
		t.Errorf("lists from %q", from) // an hour before the first answer; then a token
	}
	if want := []string{"oai:r:2: the source withdrew them"}; !slices.Equal(p.intake.removed, want) {
		t.Errorf("removed %q, want %q", p.intake.removed, want)
	}
	if want := (map[concordat.DocumentID]int{"oai:r:1": 1, "oai:r:2": 1, "oai:r:3": 2, "oai:r:4": 1,
		"oai:r:5": 1}); !maps.Equal(p.intake.puts, want) {
		t.Errorf("taken in %v, want %v", p.intake.puts, want)
	}
	p.run() // nothing is new
	if p.intake.puts["oai:r:5"] != 1 {
		t.Error("a text was fetched again")
	}
}

// TestDay: a repository with day granularity is queried by day, beginning with the previous day.
func TestDay(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	repo.day = true
	repo.put("a", dc(el("identifier", repo.text("/a.txt", "text"))))
	p.add(harvest.Spec{URL: repo.URL + "/oai"})
	p.run()
	p.run()
	if from := repo.lists("from"); !slices.Equal(from, []string{"", "2026-11-20"}) {
		t.Errorf("lists from %q", from)
	}
}

// TestExpiredToken: a list whose token expires is read from its beginning, and each record is added once.
func TestExpiredToken(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	for n := range 10 {
		id := fmt.Sprint("oai:r:", n)
		repo.put(id, dc(el("identifier", repo.text(fmt.Sprintf("/%d.txt", n), id))))
	}
	repo.dead["6||2"] = true
	p.add(harvest.Spec{URL: repo.URL + "/oai"})
	p.run()
	if n := len(repo.lists("verb")); n != 3+4 { // the third token has expired, then all four
		t.Errorf("%d lists, want 7", n)
	}
	if len(p.intake.puts) != 10 {
		t.Errorf("%d documents, want 10", len(p.intake.puts))
	}
	for id, n := range p.intake.puts {
		if n != 1 {
			t.Errorf("%s was taken %d times", id, n)
		}
	}
}

// TestEndlessTokens: a list that returns the same token again ends the run, with the reason.
func TestEndlessTokens(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	repo.faults = func(r *http.Request) (int, http.Header, string) {
		if r.URL.Query().Get("verb") != "ListRecords" {
			return 0, nil, ""
		}
		return 200, nil, `<OAI-PMH><ListRecords><resumptionToken>x</resumptionToken></ListRecords></OAI-PMH>`
	}
	p.add(harvest.Spec{URL: repo.URL + "/oai"})
	if err := p.runner.Run(t.Context(), "repo"); err == nil || !strings.Contains(err.Error(), "does not advance") {
		t.Errorf("got %v", err)
	}
}

// TestBusy: the run waits when a repository asks it to, or continues later where it stopped.
func TestBusy(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	for n := range 4 {
		repo.put(fmt.Sprint(n), dc(el("identifier", repo.text(fmt.Sprintf("/%d.txt", n), "text"))))
	}
	busy := []string{"7", "", "3600"} // in seconds, for answers to lists
	lists := 0
	repo.faults = func(r *http.Request) (int, http.Header, string) {
		if r.URL.Query().Get("verb") != "ListRecords" {
			return 0, nil, ""
		}
		if lists++; lists > len(busy) || busy[lists-1] == "" {
			return 0, nil, ""
		}
		return 503, http.Header{"Retry-After": {busy[lists-1]}}, ""
	}
	p.add(harvest.Spec{URL: repo.URL + "/oai", Every: 24 * time.Hour})
	err := p.runner.Run(t.Context(), "repo")
	h, err2 := p.db.Harvest.Source(t.Context(), "repo")
	if err == nil || err2 != nil || !slices.Contains(p.slept, 7*time.Second) || !h.Next.Equal(p.clock().Add(time.Hour)) ||
		h.State.Listed != 3 {
		t.Fatalf("got %v, %v; slept %v, state %+v, next %s", err, err2, p.slept, h.State, h.Next)
	}
	p.run()
	if lists != 4 || len(p.intake.puts) != 4 {
		t.Errorf("%d lists, %d documents", lists, len(p.intake.puts))
	}
	if after, err := p.db.Harvest.Source(t.Context(), "repo"); err != nil || h.State.Cause == "" || after.State.Cause != "" {
		t.Errorf("cause %q, then %q, %v; want one while the run waits, none when it has ended", h.State.Cause, after.State.Cause, err)
	}
}

// TestFaultyRecord: an unreadable record is reported with the reason, and the others on its page are read.
func TestFaultyRecord(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	repo.page = 10
	good := func(n string) string {
		return dc(el("title", "T"), el("identifier", repo.text("/"+n+".txt", "text "+n)))
	}
	repo.put("a", good("a"))
	repo.put("broken", `<oai_dc:dc><dc:title>No end &nosuch; <dc:identifier`)
	repo.put("b", good("b"))
	repo.put("control", strings.Replace(good("control"), "T<", "T\x01 &nbsp; \xff<", 1))
	repo.put("empty", " ")
	repo.put("c", good("c"))
	p.add(harvest.Spec{URL: repo.URL + "/oai"})
	p.run()
	p.want(map[string]store.HarvestRecordState{"a": store.RecordKept, "b": store.RecordKept, "c": store.RecordKept,
		"control": store.RecordKept,
		"broken":  store.RecordFailed, "empty": store.RecordFailed}, "a", "b", "c", "control")
	for _, id := range []string{"broken", "empty"} {
		if d := p.records()[id].Detail; !strings.Contains(d, "cannot be read") || !strings.Contains(d, "requesting the record alone") {
			t.Errorf("%s: %q", id, d)
		}
	}
}

// TestReadAlone: a record that is damaged in a list is requested individually, and only once while it does not change; this is done for
// at most 20 records of a page.
func TestReadAlone(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	repo.page, repo.alone = 100, map[string]string{"whole": dc(el("title", "T"), el("identifier", repo.text("/whole.txt", "the text")))}
	repo.put("whole", `<oai_dc:dc><dc:title>No end &nosuch; <dc:identifier`)
	p.add(harvest.Spec{URL: repo.URL + "/oai"})
	p.run()
	p.want(map[string]store.HarvestRecordState{"whole": store.RecordKept}, "whole")
	for n := range 30 {
		repo.put(fmt.Sprintf("broken%02d", n), `<oai_dc:dc><dc:title>No end &nosuch; <dc:identifier`)
	}
	if err := p.db.Harvest.PlanSource(t.Context(), "repo", p.clock(), harvest.AskWhole); err != nil {
		t.Fatal(err)
	}
	repo.asked = nil
	p.run()
	got := 0
	for _, q := range repo.asked {
		if q.Get("verb") == "GetRecord" {
			got++
		}
	}
	if got != 20 || p.intake.puts["whole"] != 1 {
		t.Errorf("%d records when requested alone, want 20; taken in %v", got, p.intake.puts)
	}
}

// TestDescribedBy: a work's metadata is read if a page or a list links to it. Title, authors, identifiers and licence are stored with the
// text, and an embargo delays the text until its date, even if it is stated later.
func TestDescribedBy(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	answer := func(path, media, body string, links ...string) string {
		repo.files[path] = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header()["Link"] = links
			rw.Header().Set("Content-Type", media)
			_, _ = io.WriteString(rw, body)
		}
		return repo.URL + path
	}
	answer("/meta.xml", "application/xml", dc(el("title", "Described"), el("creator", "Roe, Jane"), el("date", "2020")))
	answer("/meta.json", "application/json", `{"title":"no"}`)
	answer("/held.xml", "application/mods+xml", dc(el("title", "Held back"), el("rights", "info:eu-repo/semantics/embargoedAccess"),
		el("date", "info:eu-repo/date/embargoEnd/2027-01-01")))
	answer("/broken.xml", "text/xml", "<dc><title>")
	page := answer("/item", "text/html", "", `</text.pdf>; rel="item"; type="application/pdf"`, `</meta.json>; rel="describedby"; type="application/json"`,
		`</meta.xml>; rel="describedby"; type="application/xml"`, `<https://doi.org/10.5072/cited>; rel="cite-as"`,
		`<https://creativecommons.org/licenses/by/4.0/>; rel="license"`)
	answer("/text.pdf", "application/pdf", "the text")
	held, plain, broken := repo.text("/held.txt", "held back"), repo.text("/plain.txt", "listed with its metadata"),
		repo.text("/broken.txt", "text")
	list := func(of map[string]string) {
		var b strings.Builder
		for _, at := range slices.Sorted(maps.Keys(of)) {
			fmt.Fprintf(&b, `<url><loc>%s</loc>%s</url>`, at, of[at])
		}
		answer("/all.xml", "application/xml", `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"><rs:md capability="resourcelist"/>`+
			b.String()+`</urlset>`)
	}
	by := func(path string) string { return `<rs:ln rel="describedby" href="` + path + `"/>` }
	all := map[string]string{page: "", held: by("/held.xml"), plain: by("/meta.xml"), broken: by("/broken.xml")}
	list(all)
	p.add(harvest.Spec{URL: repo.URL + "/all.xml", Kind: harvest.KindSync})
	p.run()
	k := store.RecordKept
	p.want(map[string]store.HarvestRecordState{page: k, held: store.RecordEmbargoed, plain: k, broken: k}, broken, page, plain)
	r := p.records()
	w := r[page].Work
	if w.Title != "Described" || w.Authors() != "Roe, Jane" || w.Date != "2020" || !strings.Contains(w.License, "by/4.0") || len(w.IDs) != 1 ||
		w.IDs[0].Value != "10.5072/cited" || w.Page != page || r[page].Detail != "" {
		t.Errorf("work %+v, %q", w, r[page].Detail)
	}
	if r[plain].Work.Title != "Described" || !strings.Contains(r[broken].Detail, "metadata") {
		t.Errorf("%+v, %q", r[plain].Work, r[broken].Detail)
	}
	all[plain] = by("/held.xml") + "<lastmod>2026-11-25</lastmod>"
	list(all)
	p.run()
	p.want(map[string]store.HarvestRecordState{page: k, held: store.RecordEmbargoed, plain: store.RecordEmbargoed, broken: k}, broken, page)
	p.now = time.Date(2027, 1, 1, 13, 0, 0, 0, time.UTC)
	p.run()
	p.want(map[string]store.HarvestRecordState{page: k, held: k, plain: k, broken: k}, broken, held, page, plain)
}

// TestDescribedLater: while metadata linked from a page or a list is outstanding, the text is not accepted, because only the metadata may
// state an embargo; permanently refused metadata does not delay the text.
func TestDescribedLater(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	fails := http.StatusBadGateway
	repo.files["/held.xml"] = func(rw http.ResponseWriter, _ *http.Request) {
		if fails != 0 {
			rw.WriteHeader(fails)
			return
		}
		rw.Header().Set("Content-Type", "application/xml")
		_, _ = io.WriteString(rw, dc(el("rights", "info:eu-repo/semantics/embargoedAccess"),
			el("date", "info:eu-repo/date/embargoEnd/2027-01-01")))
	}
	repo.files["/broken.xml"] = func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/xml")
		rw.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(rw, "<dc>")
	}
	repo.files["/item"] = func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		rw.Header()["Link"] = []string{`</text.txt>; rel="item"; type="text/plain"`, `</held.xml>; rel="describedby"; type="application/xml"`}
	}
	repo.text("/text.txt", "the text")
	listed, cut := repo.text("/listed.txt", "listed"), repo.text("/cut.txt", "cut short")
	repo.files["/all.xml"] = func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(rw, `<urlset xmlns:rs="http://www.openarchives.org/rs/terms/"><rs:md capability="resourcelist"/><url><loc>/item</loc></url>
			<url><loc>/listed.txt</loc><rs:ln rel="describedby" href="/held.xml"/></url>
			<url><loc>/cut.txt</loc><rs:ln rel="describedby" href="/broken.xml"/></url></urlset>`)
	}
	item := repo.URL + "/item"
	p.add(harvest.Spec{URL: repo.URL + "/all.xml", Kind: harvest.KindSync})
	p.run()
	f := store.RecordFailed
	p.want(map[string]store.HarvestRecordState{item: f, listed: f, cut: f})
	for id, r := range p.records() {
		if r.Due.IsZero() || r.Tries != 1 || !strings.Contains(r.Detail, ".xml") {
			t.Errorf("%s: %+v", id, r)
		}
	}
	fails = 0
	repo.files["/broken.xml"] = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) }
	p.now = p.now.Add(2 * time.Hour)
	p.run()
	p.want(map[string]store.HarvestRecordState{item: store.RecordEmbargoed, listed: store.RecordEmbargoed, cut: store.RecordKept}, cut)
}

// TestDescribedInManyFormats: metadata in other formats does not count towards the limit for XML metadata, and everything that is not
// read is reported.
func TestDescribedInManyFormats(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	formats := []string{"application/json", "text/turtle", "application/ld+json; profile=x", "application/xhtml+xml", "application/xml"}
	var links []string
	var inList strings.Builder
	for n, media := range formats {
		path := fmt.Sprintf("/meta/%d", n)
		links = append(links, fmt.Sprintf(`<%s>; rel="describedby"; type="%s"`, path, media))
		fmt.Fprintf(&inList, `<rs:ln rel="describedby" href="%s" type="%s"/>`, path, media)
		repo.files[path] = func(rw http.ResponseWriter, _ *http.Request) {
			if media != "application/xml" {
				t.Errorf("%s was read", media)
			}
			rw.Header().Set("Content-Type", media)
			_, _ = io.WriteString(rw, dc(el("rights", "info:eu-repo/semantics/closedAccess")))
		}
	}
	var many []string
	for n := range 5 {
		path := fmt.Sprintf("/many/%d.xml", n)
		many = append(many, fmt.Sprintf(`<%s>; rel="describedby"`, path), fmt.Sprintf(`<%s>; rel="describedby"; type="text/xml"`, path))
		repo.files[path] = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/xml")
			_, _ = io.WriteString(rw, dc(el("title", "Described")))
		}
	}
	page := func(path string, links []string) string {
		repo.files[path] = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			rw.Header()["Link"] = append(links, `</text.txt>; rel="item"; type="text/plain"`)
		}
		return repo.URL + path
	}
	repo.text("/text.txt", "the text")
	one, several, listed := page("/one", links), page("/several", many), repo.text("/listed.txt", "listed")
	repo.files["/all.xml"] = func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(rw, `<urlset xmlns:rs="http://www.openarchives.org/rs/terms/"><rs:md capability="resourcelist"/><url><loc>/one</loc></url>
			<url><loc>/several</loc></url><url><loc>/listed.txt</loc>%s</url></urlset>`, inList.String())
	}
	p.add(harvest.Spec{URL: repo.URL + "/all.xml", Kind: harvest.KindSync})
	p.run()
	p.want(map[string]store.HarvestRecordState{one: store.RecordClosed, listed: store.RecordClosed, several: store.RecordKept}, several)
	if d := p.records()[several].Detail; !strings.Contains(d, "/many/3.xml: not read") || !strings.Contains(d, "/many/4.xml: not read") ||
		strings.Contains(d, "/many/2.xml") {
		t.Errorf("said %q", d)
	}
}

// TestEmbargo: a text under embargo is added on the date of its release and not before; a text whose embargo has ended is added
// immediately; a text that is placed under embargo later is removed.
func TestEmbargo(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	repo.page = 10
	file := func(n string) string { return el("identifier", repo.text("/"+n+".txt", "text "+n)) }
	repo.put("soon", dc(file("soon"), el("rights", "info:eu-repo/semantics/embargoedAccess"), el("date",
		"info:eu-repo/date/embargoEnd/2026-12-01")))
	repo.put("over", dc(file("over"), el("rights", "info:eu-repo/semantics/embargoedAccess"), el("date",
		"info:eu-repo/date/embargoEnd/2026-11-01")))
	repo.put("undated", dc(file("undated"), el("rights", "info:eu-repo/semantics/embargoedAccess")))
	repo.put("closed", dc(file("closed"), el("rights", "info:eu-repo/semantics/closedAccess")))
	repo.put("open", dc(file("open"), el("rights", "info:eu-repo/semantics/openAccess"), el("date", "2026-12-24")))
	p.add(harvest.Spec{URL: repo.URL + "/oai", Every: 24 * time.Hour})
	p.run()
	states := map[string]store.HarvestRecordState{"soon": store.RecordEmbargoed, "over": store.RecordKept, "undated": store.RecordClosed,
		"closed": store.RecordClosed, "open": store.RecordKept}
	p.want(states, "open", "over")
	p.now = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	p.run()
	p.want(states, "open", "over") // it is still November somewhere
	p.now = time.Date(2026, 12, 1, 13, 0, 0, 0, time.UTC)
	repo.now = p.now
	repo.put("open", dc(file("open"), el("rights", "info:eu-repo/semantics/embargoedAccess"), el("date",
		"info:eu-repo/date/embargoEnd/2027-12-01")))
	p.run()
	states["soon"], states["open"] = store.RecordKept, store.RecordEmbargoed
	p.want(states, "over", "soon")
}

// TestKills: however often and wherever the process ends, each record is added once and nothing is lost.
func TestKills(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	repo.page = 7
	const all = 100
	for n := range all {
		id := fmt.Sprintf("oai:r:%03d", n)
		repo.put(id, dc(el("title", id), el("identifier", repo.text(fmt.Sprintf("/%d.txt", n), id))))
	}
	p.add(harvest.Spec{URL: repo.URL + "/oai"})
	requests, kills := 0, 0
	for {
		ctx, kill := context.WithCancel(t.Context())
		left := 13 + kills%5
		repo.mu.Lock()
		repo.faults = func(*http.Request) (int, http.Header, string) {
			if requests++; left > 0 {
				if left--; left == 0 {
					kill()
				}
			}
			return 0, nil, ""
		}
		repo.mu.Unlock()
		p.intake.fail = ctx.Err
		err := p.runner.Run(ctx, "repo")
		kill()
		if err == nil {
			break
		}
		if kills++; kills > all {
			t.Fatalf("no progress: %v", err)
		}
		p.restart()
	}
	if len(p.intake.puts) != all || kills < 5 {
		t.Errorf("%d documents after %d kills, want %d", len(p.intake.puts), kills, all)
	}
	for id, n := range p.intake.puts {
		if n != 1 {
			t.Errorf("%s was taken %d times", id, n)
		}
	}
	if requests > 5*all {
		t.Errorf("%d requests for %d records", requests, all)
	}
}

// TestVanished: if a repository does not report deleted records, records that are no longer listed are removed. A list that has lost most
// of its entries is distrusted until a person confirms it.
func TestVanished(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	repo.deleted = "no"
	for _, n := range []string{"a", "b", "c"} {
		repo.put(n, dc(el("identifier", repo.text("/"+n+".txt", "text "+n))))
	}
	p.add(harvest.Spec{URL: repo.URL + "/oai", Every: 24 * time.Hour})
	p.run()
	kept, gone := store.RecordKept, store.RecordWithdrawn
	repo.items = repo.items[:2]
	p.run()
	p.want(map[string]store.HarvestRecordState{"a": kept, "b": kept, "c": kept}, "a", "b", "c") // the list was not complete
	p.now = p.now.Add(8 * 24 * time.Hour)
	p.run()
	p.want(map[string]store.HarvestRecordState{"a": kept, "b": kept, "c": gone}, "a", "b")
	repo.items = nil
	p.now = p.now.Add(8 * 24 * time.Hour)
	p.run()
	p.want(map[string]store.HarvestRecordState{"a": kept, "b": kept, "c": gone}, "a", "b")
	h, err := p.db.Harvest.Source(t.Context(), "repo")
	if err != nil || h.State.Unlisted != 2 {
		t.Errorf("unlisted %d, %v", h.State.Unlisted, err)
	}
	if err := p.db.Harvest.PlanSource(t.Context(), "repo", p.clock(), harvest.AskWhole); err != nil {
		t.Fatal(err)
	}
	p.run()
	p.want(map[string]store.HarvestRecordState{"a": gone, "b": gone, "c": gone})
}

// TestWholeWhileOpen: a requested complete run replaces one whose remaining texts have not been fetched yet.
func TestWholeWhileOpen(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	repo.put("a", dc(el("identifier", repo.text("/a.txt", "text"))))
	p.add(harvest.Spec{URL: repo.URL + "/oai", Every: 24 * time.Hour})
	p.run()
	repo.items = nil
	repo.put("b", dc(el("identifier", repo.text("/b.txt", "other text"))))
	text := repo.files["/b.txt"]
	repo.files["/b.txt"] = func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "3600")
		rw.WriteHeader(http.StatusServiceUnavailable)
	}
	if err := p.runner.Run(t.Context(), "repo"); err == nil {
		t.Fatal("a run that waits for its repository is no error")
	}
	if err := p.db.Harvest.PlanSource(t.Context(), "repo", p.clock(), harvest.AskWhole); err != nil {
		t.Fatal(err)
	}
	repo.files["/b.txt"] = text
	p.run()
	p.want(map[string]store.HarvestRecordState{"a": store.RecordWithdrawn, "b": store.RecordKept}, "b")
}

// TestKeepWithdrawn: the source's policy can preserve the documents of withdrawn records.
func TestKeepWithdrawn(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	repo.put("a", dc(el("identifier", repo.text("/a.txt", "text"))))
	p.add(harvest.Spec{URL: repo.URL + "/oai", Withdrawn: store.HarvestKeep})
	p.run()
	repo.put("a", "")
	p.run()
	p.want(map[string]store.HarvestRecordState{"a": store.RecordWithdrawn}, "a")
}

// TestTexts: a text is found from the information in a record or a page, and everything that is not a text is reported.
func TestTexts(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	repo.page, repo.robots = 100, "User-agent: *\nDisallow: /private/\n"
	page := func(path, link, body string) string {
		repo.files[path] = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			if link != "" {
				rw.Header().Set("Link", link)
			}
			_, _ = io.WriteString(rw, body)
		}
		return el("identifier", repo.URL+path)
	}
	answer := func(path, media, body string) string {
		repo.files[path] = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", media)
			_, _ = io.WriteString(rw, body)
		}
		return repo.URL + path
	}
	repo.put("citation", dc(page("/1", "", `<meta name="citation_pdf_url" content="/1/text">`)))
	answer("/1/text", "application/pdf", "citation")
	repo.put("item", dc(page("/2", `<2/cover.png>; rel="item"; type="image/png", <2/text>; rel="item"; type="application/pdf"`, "")))
	answer("/2/text", "application/pdf", "item")
	repo.put("set", dc(page("/3", `<3/links>; rel="linkset"; type="application/linkset+json"`, "")))
	answer("/3/links", "application/linkset+json", `{"linkset":[{"anchor":"/other","item":[{"href":"/4/text","type":"application/pdf"}]},
		{"anchor":"/3","item":[{"href":"/3/text","type":"application/pdf"}]}]}`)
	answer("/3/text", "application/pdf", "set")
	repo.put("direct", dc(el("identifier", answer("/5", "application/pdf", "direct"))))
	repo.put("jats",
		`<article xmlns:xlink="http://www.w3.org/1999/xlink"><front><article-meta><title-group><article-title>On <i>tides</i></article-title></title-group><contrib-group><contrib contrib-type="author"><contrib-id>0000-0002-1825-0097</contrib-id><name><surname>Roe</surname><given-names>J.</given-names></name></contrib></contrib-group><pub-date><day>3</day><month>4</month><year>2020</year></pub-date></article-meta></front><body><p>In the record.</p></body></article>`)
	repo.put("page", dc(page("/6", "", "nothing here")))
	repo.put("login", dc(page("/7", "", `<meta name="citation_pdf_url" content="/7/login">`)))
	page("/7/login", "", "sign in")
	repo.put("robots", dc(el("identifier", repo.text("/private/8.txt", "private"))))
	repo.put("refused", dc(el("identifier", repo.URL+"/9.pdf")))
	repo.files["/9.pdf"] = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) }
	repo.put("damaged", dc(el("identifier", answer("/10.pdf", "application/pdf", "unreadable"))))
	repo.put("large", dc(el("identifier", answer("/11.pdf", "application/pdf", strings.Repeat("x", 2<<20)))))
	repo.put("inside", dc(el("identifier", "http://10.0.0.1/12.pdf")))
	repo.put("elsewhere", dc(el("identifier", repo.URL+"/13.pdf")))
	repo.files["/13.pdf"] = func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://192.168.1.1/x.pdf", http.StatusFound)
	}
	repo.put("two", dc(el("identifier", answer("/14a.pdf", "application/pdf", "part one")), el("identifier", answer("/14b.pdf",
		"application/pdf", "part two"))))
	p.add(harvest.Spec{URL: repo.URL + "/oai"})
	p.run()
	k, f, c := store.RecordKept, store.RecordFailed, store.RecordClosed
	p.want(map[string]store.HarvestRecordState{"citation": k, "item": k, "set": k, "direct": k, "jats": k, "page": store.RecordTextless,
		"login":  c,
		"robots": c, "refused": c, "damaged": f, "large": f, "inside": f, "elsewhere": f, "two": k},
		"citation", "direct", "item", "jats", "set", "two", "two#14b.pdf")
	works, err := p.db.Harvest.Works(t.Context(), "theses", []concordat.DocumentID{"jats"})
	w := works["jats"]
	if err != nil || w.Title != "On tides" || w.Date != "2020-04-03" || w.Authors() != "Roe, J." || w.Creators[0].ORCID == "" {
		t.Errorf("%+v, %v", w, err)
	}
	for id, want := range map[string]string{"robots": "robots.txt", "inside": "not public", "large": "larger", "elsewhere": "not public",
		"damaged": "damaged"} {
		if d := p.records()[id].Detail; !strings.Contains(d, want) {
			t.Errorf("%s: %q, want %q in it", id, d, want)
		}
	}
}

// TestPassing: a text that could not be fetched is retried later, but not forever.
func TestPassing(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	repo.put("a", dc(el("identifier", repo.URL+"/a.pdf")))
	repo.files["/a.pdf"] = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) }
	p.add(harvest.Spec{URL: repo.URL + "/oai"})
	for n := range 5 {
		p.run()
		r := p.records()["a"]
		if r.State != store.RecordFailed || r.Tries != n+1 || r.Due.IsZero() != (n == 4) {
			t.Fatalf("try %d: %+v", n+1, r)
		}
		p.now = cmp.Or(r.Due, p.now)
	}
}

// TestFolder: files in a folder appear, change, move and disappear; an unmounted folder removes nothing.
func TestFolder(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	write := func(name, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name),
			[]byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("a.txt", "first")
	write("2020/b.txt", "second")
	write(".hidden", "x")
	write(".git/config", "x")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	p.add(harvest.Spec{URL: "file://" + dir})
	p.run()
	k, gone := store.RecordKept, store.RecordWithdrawn
	p.want(map[string]store.HarvestRecordState{"a.txt": k, "2020/b.txt": k}, "2020/b.txt", "a.txt")
	if h, err := p.db.Harvest.Source(t.Context(), "repo"); err != nil || h.State.Skipped != 3 || h.State.Listed != 2 {
		t.Errorf("skipped %d, listed %d, %v; want the file, the folder and the link", h.State.Skipped, h.State.Listed, err)
	}
	write("a.txt", "first, changed")
	if err := os.Rename(filepath.Join(dir, "2020/b.txt"), filepath.Join(dir, "c.txt")); err != nil {
		t.Fatal(err)
	}
	p.run()
	p.want(map[string]store.HarvestRecordState{"a.txt": k, "2020/b.txt": gone, "c.txt": k}, "a.txt", "c.txt")
	if p.intake.puts["a.txt"] != 2 || p.intake.puts["c.txt"] != 1 {
		t.Errorf("taken in %v", p.intake.puts)
	}
	away := dir + "-away"
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	if err := p.runner.Run(t.Context(), "repo"); err == nil {
		t.Error("a folder that is not there is no error")
	}
	if err := os.Mkdir(dir, 0o700); err != nil { // mount point of a share
		t.Fatal(err)
	}
	p.run()
	p.want(map[string]store.HarvestRecordState{"a.txt": k, "2020/b.txt": gone, "c.txt": k}, "a.txt", "c.txt")
}

// TestSync: a ResourceSync source is read through its resource list, and later through its changes.
func TestSync(t *testing.T) {
	repo, p := newRepository(t), newPlace(t)
	list := func(path, kind, md, entries string) {
		repo.files[path] = func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(rw,
				`<?xml version="1.0"?><%s xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"><rs:md %s/>%s</%[1]s>`,
				kind, md, entries)
		}
	}
	entry := func(path, md string) string { return "<url><loc>" + repo.URL + path + "</loc>" + md + "</url>" }
	list("/.well-known/resourcesync", "urlset", `capability="description"`, entry("/caps.xml", `<rs:md capability="capabilitylist"/>`))
	list("/caps.xml", "urlset", `capability="capabilitylist"`, entry("/all.xml", `<rs:md capability="resourcelist"/>`)+
		entry("/changes.xml", `<rs:md capability="changelist"/>`))
	list("/all.xml", "sitemapindex", `capability="resourcelist"`, "<sitemap><loc>/all1.xml</loc></sitemap>")
	repo.text("/a.txt", "first")
	repo.text("/b.txt", "second")
	list("/all1.xml", "urlset", `capability="resourcelist"`, entry("/a.txt", `<lastmod>2026-11-01</lastmod>`)+entry("/b.txt",
		`<lastmod>2026-11-02</lastmod>`)+
		entry("/c.png", `<rs:md type="image/png"/>`))
	list("/changes.xml", "urlset", `capability="changelist" from="2026-11-01T00:00:00Z"`, "")
	p.add(harvest.Spec{URL: repo.URL + "/", Kind: harvest.KindSync})
	p.run()
	a, b, c := repo.URL+"/a.txt", repo.URL+"/b.txt", repo.URL+"/c.png"
	k := store.RecordKept
	p.want(map[string]store.HarvestRecordState{a: k, b: k, c: store.RecordTextless}, a, b)
	d := repo.text("/d.txt", "third")
	repo.text("/a.txt", "first, changed")
	list("/changes.xml", "urlset", `capability="changelist" from="2026-11-01T00:00:00Z"`,
		entry("/b.txt", `<rs:md change="created" datetime="2026-11-02T00:00:00Z"/>`)+ // before the last run
			entry("/a.txt", `<rs:md change="updated" datetime="2026-11-21T00:00:00Z"/>`)+
			entry("/b.txt", `<rs:md change="deleted" datetime="2026-11-21T00:00:01Z"/>`)+
			entry("/d.txt", `<rs:md change="created" datetime="2026-11-21T00:00:02Z"/>`))
	p.run()
	p.want(map[string]store.HarvestRecordState{a: k, b: store.RecordWithdrawn, c: store.RecordTextless, d: k}, a, d)
	if p.intake.puts[concordat.DocumentID(a)] != 2 {
		t.Errorf("taken in %v", p.intake.puts)
	}
}

// TestManyLists: a source is read up to the limit on its lists; a source beyond the limit is rejected, because unread entries would count
// as deleted.
func TestManyLists(t *testing.T) {
	for lists, fits := range map[int]bool{2000: true, 2001: false} {
		repo, p := newRepository(t), newPlace(t)
		const head = `xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"`
		serve := func(path, text string) {
			repo.files[path] = func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, text) }
		}
		serve("/sitemap.xml", "<sitemapindex "+head+">"+strings.Repeat("<sitemap><loc>/1.xml</loc></sitemap>", lists)+"</sitemapindex>")
		serve("/1.xml", "<urlset "+head+"><url><loc>"+repo.text("/a.txt", "text")+"</loc></url></urlset>")
		p.add(harvest.Spec{URL: repo.URL + "/sitemap.xml"})
		if err := p.runner.Run(t.Context(), "repo"); (err == nil) != fits {
			t.Errorf("%d lists: %v", lists, err)
		}
	}
}

// TestSpecs: an invalid source is rejected, and so is a folder if the caller may not add one.
func TestSpecs(t *testing.T) {
	c := fetch.New(fetch.Options{Agent: "concordat/test"})
	for name, s := range map[string]harvest.Spec{
		"scheme": {URL: "ftp://example.org/"}, "password": {URL: "https://me:pw@example.org/"}, "private": {URL: "http://10.0.0.1/oai"},
		"folder": {URL: "file:///srv"}, "set": {URL: "https://example.org/", Set: "a b"}, "often": {URL: "https://example.org/",
			Every: time.Second},
		"name": {URL: "https://example.org/", ID: "A B"}, "policy": {URL: "https://example.org/", Withdrawn: "burn"},
		"sets": {URL: "https://example.org/resourcesync", Set: "a"},
	} {
		if _, err := harvest.NewSource(s, c, false, at); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	h, err := harvest.NewSource(harvest.Spec{URL: "https://Repo.example.org:8443/oai", Every: time.Hour}, c, false, at)
	if err != nil || h.ID != "repo.example.org-8443" || h.Kind != harvest.KindOAI || !h.Next.Equal(at) {
		t.Errorf("%+v, %v", h, err)
	}
}
