package oai_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/harvest/oai"
	"concordat/harvest/xmltree"
)

var today = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// description contains the parts of a record that a test compares.
type description struct {
	Work   concordat.Work
	Access oai.Access
	Files  []string // direct files and, after =>, the others
}

// TestShapes reads records in the formats of DSpace, EPrints, OJS, Invenio and a library catalogue, as documented for the protocols and
// by these programs.
func TestShapes(t *testing.T) {
	cc := "http://creativecommons.org/licenses/by/4.0/"
	doi := concordat.WorkID{Scheme: "doi", Value: "10.5072/zenodo.7"}
	for name, want := range map[string]description{
		"dspace_xoai": {Work: concordat.Work{Title: "On tides", Creators: []concordat.Creator{{Name: "Roe, Jane"}, {Name: "Doe, John"}},
			Date:    "2021-05",
			License: cc, Embargo: "2027-01-31", IDs: []concordat.WorkID{{Scheme: "handle", Value: "123456789/7"}},
			Page: "https://hdl.handle.net/123456789/7"},
			Access: oai.Embargoed, Files: []string{"https://repo.example.edu/bitstreams/1/download",
				"=>https://hdl.handle.net/123456789/7"}},
		"dspace_mets": {Work: concordat.Work{Title: "On tides", Creators: []concordat.Creator{{Name: "Roe, Jane"}}, Date: "2021-05-03",
			IDs: []concordat.WorkID{{Scheme: "handle", Value: "123456789/7"}}, Page: "https://hdl.handle.net/123456789/7"},
			Files: []string{"https://repo.example.edu/bitstream/123456789/7/1/thesis.pdf", "=>https://hdl.handle.net/123456789/7"}},
		"dspace_ore": {Work: concordat.Work{Title: "On tides", Creators: []concordat.Creator{{Name: "Roe, Jane"}}, Date: "2021-05-03",
			Page: "https://repo.example.edu/handle/123456789/7"},
			Files: []string{"https://repo.example.edu/bitstream/123456789/7/1/thesis.pdf",
				"=>https://repo.example.edu/handle/123456789/7"}},
		"eprints_dc": {Work: concordat.Work{Title: "On tides", Creators: []concordat.Creator{{Name: "Roe, Jane"}}, Date: "2021",
			License: "cc_by_4",
			Page:    "https://repo.example.edu/7/"}, Files: []string{"https://repo.example.edu/7/1/thesis.pdf",
			"=>https://repo.example.edu/7/"}},
		"ojs_dc": {Work: concordat.Work{Title: "On tides", Creators: []concordat.Creator{{Name: "Roe, Jane; University of Oslo"}},
			Date:    "2021-05-03",
			License: "https://creativecommons.org/licenses/by/4.0", IDs: []concordat.WorkID{{Scheme: "doi", Value: "10.5072/j.7"}},
			Page: "https://repo.example.edu/index.php/j/article/view/7"},
			Files: []string{"=>https://repo.example.edu/index.php/j/article/view/7", "=>https://doi.org/10.5072/j.7"}},
		"invenio_datacite": {Work: concordat.Work{Title: "On tides", Creators: []concordat.Creator{{Name: "Roe, Jane",
			ORCID: "0000-0002-1825-0097",
			ROR:   "01xtthb56"}}, Date: "2021-05-03", License: "https://creativecommons.org/licenses/by/4.0/legalcode",
			IDs: []concordat.WorkID{doi}, Page: "https://repo.example.edu/records/7"},
			Files: []string{"=>https://repo.example.edu/records/7", "=>https://doi.org/10.5072/zenodo.7"}},
		"marc": {Work: concordat.Work{Title: "On tides a study", Creators: []concordat.Creator{{Name: "Roe, Jane"}}, Date: "2021",
			IDs: []concordat.WorkID{{Scheme: "urn", Value: "urn:nbn:de:101:1-2009"}}, Page: "https://repo.example.edu/7"},
			Files: []string{"https://repo.example.edu/7/thesis.pdf", "=>https://repo.example.edu/7"}},
		"rioxx": {Work: concordat.Work{Title: "On tides", Creators: []concordat.Creator{{Name: "Roe, Jane",
			ORCID: "0000-0002-1825-0097"}}, Date: "2021-05-03",
			License: cc, Embargo: "2027-02-01", IDs: []concordat.WorkID{{Scheme: "doi", Value: "10.5072/j.7"}},
			Page: "https://doi.org/10.5072/j.7"},
			Access: oai.Embargoed, Files: []string{"https://repo.example.edu/7/1/thesis.pdf", "=>https://doi.org/10.5072/j.7"}},
	} {
		b, err := os.ReadFile(filepath.Join("testdata", name+".xml"))
		if err != nil {
			t.Fatal(err)
		}
		p,
			err := oai.Read(xmltree.Clean([]byte("<OAI-PMH><ListRecords><record><header><identifier>i</identifier></header><metadata>"+string(b)+
			"</metadata></record></ListRecords></OAI-PMH>"), ""))
		if err != nil || len(p.Records) != 1 || p.Records[0].Err != nil {
			t.Fatalf("%s: %+v, %v", name, p, err)
		}
		d := oai.Describe(p.Records[0], "https://repo.example.edu/oai", today)
		got := description{Work: d.Work, Access: d.Access}
		for _, f := range d.Files {
			got.Files = append(got.Files, strings.Repeat("=>", b2i(f.Page))+f.URL)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestAccess: only a future date is an embargo, and only explicit words close a text.
func TestAccess(t *testing.T) {
	for elements, want := range map[string]oai.Access{
		"":                             oai.Open,
		"<rights>all rights</rights>":  oai.Open,
		"<rights>Open Access</rights>": oai.Open,
		"<rights>This is not closed access material</rights>":                                                         oai.Open,
		"<rights>info:eu-repo/semantics/closedAccess</rights>":                                                        oai.Closed,
		"<rights>http://purl.org/coar/access_right/c_16ec</rights>":                                                   oai.Closed,
		"<rights>Metadata Only Access</rights>":                                                                       oai.Closed,
		"<rights>info:eu-repo/semantics/embargoedAccess</rights>":                                                     oai.Embargoed,
		"<date>info:eu-repo/date/embargoEnd/2026-11-21</date>":                                                        oai.Embargoed,
		"<date>info:eu-repo/date/embargoEnd/2026-11-20</date>":                                                        oai.Open,
		"<rights>info:eu-repo/semantics/embargoedAccess</rights><date>info:eu-repo/date/embargoEnd/2025-01-01</date>": oai.Open,
		"<rights>info:eu-repo/semantics/closedAccess</rights><date>info:eu-repo/date/embargoEnd/2025-01-01</date>":    oai.Closed,
		"<available>2027-01-01</available>":                                                                           oai.Embargoed,
		"<available>2027</available>":                                                                                 oai.Open,
		// a year of print publication
		"<available>2020-01-01</available>": oai.Open,
		"<date>2027-01-01</date>":           oai.Open,
		// date of the issue
		"<date>info:eu-repo/date/embargoEnd/soon</date><rights>info:eu-repo/semantics/embargoedAccess</rights>": oai.Embargoed,
	} {
		n, err := xmltree.Parse([]byte("<dc>" + elements + "</dc>"))
		if err != nil {
			t.Fatal(err)
		}
		if d := oai.Describe(oai.Record{Meta: n}, "", today); d.Access != want {
			t.Errorf("%s: %v, want %v", elements, d.Access, want)
		}
	}
}

// TestRead: an answer is parsed however its elements are written, and a truncated answer is rejected.
func TestRead(t *testing.T) {
	record := func(id string) string {
		return "<record><header><identifier>" + id +
			"</identifier><datestamp>2020-01-01</datestamp></header><metadata><dc><title>t</title></dc></metadata></record>"
	}
	prefixed := strings.NewReplacer("<", "<o:", "<o:/", "</o:")
	for name, c := range map[string]struct {
		text, token string
		size        int
		ids         []string
	}{
		"plain": {"<OAI-PMH><ListRecords>" + record("a") + record("b") + "</ListRecords></OAI-PMH>", "", 0, []string{"a", "b"}},
		"prefix": {prefixed.Replace("<OAI-PMH><ListRecords>" + record("a") +
			"<resumptionToken>x&amp;y</resumptionToken></ListRecords></OAI-PMH>"), "x&y", 0, []string{"a"}},
		"token": {"<OAI-PMH><ListRecords>" + record("a") +
			`<resumptionToken cursor="0" completeListSize="12"> x </resumptionToken></ListRecords></OAI-PMH>`, "x", 12, []string{"a"}},
		"last": {"<OAI-PMH><ListRecords>" + record("a") + `<resumptionToken completeListSize="12"/></ListRecords></OAI-PMH>`, "", 12,
			[]string{"a"}},
		"marc": {"<OAI-PMH><ListRecords>" + strings.Replace(record("a"), "<dc>", "<dc><record xmlns='m'><leader/></record>", 1) +
			record("b") +
			"</ListRecords></OAI-PMH>", "", 0, []string{"a", "b"}},
		"unclosed": {"<OAI-PMH><ListRecords>" + strings.ReplaceAll(record("a"), "</record>", "") + record("b") +
			"</ListRecords></OAI-PMH>", "", 0, []string{"a", "b"}},
		"token in text": {"<OAI-PMH><ListRecords>" + strings.Replace(record("a"), "<title>t", "<title>&lt;resumptionToken&gt;z", 1) +
			"</ListRecords></OAI-PMH>",
			"", 0, []string{"a"}},
	} {
		p, err := oai.Read([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var ids []string
		for _, r := range p.Records {
			ids = append(ids, r.ID)
		}
		if p.Token != c.token || p.Size != c.size || !slices.Equal(ids, c.ids) {
			t.Errorf("%s: %q, %d, %q", name, p.Token, p.Size, ids)
		}
	}
	whole := "<OAI-PMH><ListRecords>" + record("a") + "<resumptionToken>x</resumptionToken></ListRecords></OAI-PMH>"
	for _, cut := range []string{whole[:60], whole[:len(whole)-60], "<OAI-PMH><ListRecords>" + record("a")} {
		if p, err := oai.Read([]byte(cut)); err == nil {
			t.Errorf("%s: %+v", cut, p)
		}
	}
}

// FuzzRead: no answer from a repository causes a panic.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.xml")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte("<OAI-PMH><ListRecords><record><header><identifier>i</identifier></header><metadata>" + string(b) +
			"</metadata></record></ListRecords></OAI-PMH>"))
	}
	f.Add([]byte(`<OAI-PMH><record><header status="deleted"/><record><header/><metadata><article><body><p/></body></article>`))
	f.Add([]byte(`<OAI-PMH><resumptionToken completeListSize="999999999999">`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := oai.Read(xmltree.Clean(b, ""))
		if err != nil {
			return
		}
		for _, r := range p.Records {
			d := oai.Describe(r, "https://repo.example.edu/oai", today)
			if len(d.Files) > 30 || len(d.Work.Creators) > 100 {
				t.Errorf("%d files, %d creators", len(d.Files), len(d.Work.Creators))
			}
		}
	})
}
