package concordat_test

import (
	"slices"
	"strings"
	"testing"

	"concordat"
)

// TestParseWorkID: identifiers are parsed in the forms that repositories use, and resolve.
func TestParseWorkID(t *testing.T) {
	for text, want := range map[string]string{
		"doi:10.5072/ABC.1": "https://doi.org/10.5072/abc.1",
		"10.5072/abc":       "https://doi.org/10.5072/abc",
		"https://dx.doi.org/10.1002/(SICI)1<1::AID-1>3.0": "https://doi.org/10.1002/%28sici%291%3C1::aid-1%3E3.0",
		"http://hdl.handle.net/20.500.12345/Ab":           "https://hdl.handle.net/20.500.12345/Ab",
		"hdl:1721.1/7":                                    "https://hdl.handle.net/1721.1/7",
		"URN:NBN:de:101:1-2009":                           "https://nbn-resolving.org/urn:nbn:de:101:1-2009",
		"https://orcid.org/0000-0002-1825-0097":           "https://orcid.org/0000-0002-1825-0097",
		"0000-0002-1694-233x":                             "https://orcid.org/0000-0002-1694-233X",
		"https://ror.org/03YRM5C26":                       "https://ror.org/03yrm5c26",
		"0000-0002-1825-0098":                             "", // the check digit is wrong
		"https://repository.example.edu/10.5072/abc":      "",
		"12/3":                        "", // a fraction is not a Handle
		"ISBN 978-3-16-148410-0":      "",
		"https://doi.org/10.5072/a b": "",
		"":                            "",
	} {
		id, ok := concordat.ParseWorkID(text)
		if ok != (want != "") || ok && id.URL() != want {
			t.Errorf("%q: %v %v %q, want %q", text, ok, id, id.URL(), want)
		}
	}
}

// TestParseCreators parses names and ORCID iDs as people and files write them.
func TestParseCreators(t *testing.T) {
	const orcid = "0000-0002-1825-0097"
	for text, want := range map[string][]concordat.Creator{
		"":                                  nil,
		"Jane Doe":                          {{Name: "Jane Doe"}},
		"Jane Doe (" + orcid + "); Roe, R.": {{Name: "Jane Doe", ORCID: orcid}, {Name: "Roe, R."}},
		"Doe, Jane <https://orcid.org/" + orcid + ">\nRichard Roe": {{Name: "Doe, Jane", ORCID: orcid}, {Name: "Richard Roe"}},
		"A. Lee and B. Roe & C. Poe":                               {{Name: "A. Lee"}, {Name: "B. Roe"}, {Name: "C. Poe"}},
		"Jane Doe (0000-0002-1825-0098)":                           {{Name: "Jane Doe"}}, // the check digit is wrong
		orcid:                                                      {{ORCID: orcid}},
		" ; ,":                                                     nil,
		"王小明；李华":                                                   {{Name: "王小明"}, {Name: "李华"}},
	} {
		if got := concordat.ParseCreators(text); !slices.Equal(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	if got := concordat.ParseCreators(strings.Repeat("Jane Doe;", 1000)); len(got) != concordat.MaxCreators {
		t.Errorf("%d authors", len(got))
	}
}
