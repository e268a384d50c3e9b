package program

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"concordat"
	"concordat/crypto"
	"concordat/federation/wire"
	"concordat/site/ask"
)

// Kinds of answers, as signed by partners.
const (
	kindTell     = "tell"     // the answer of the first round
	kindRevealed = "revealed" // revealed passages
	kindLeads    = "leads"    // documents that may make the same statement
)

// signedClaims contains the claims that a partner signed: its documents, with their names at this site and their titles, and the texts of
// revealed passages.
type signedClaims struct {
	titles map[concordat.DocumentID]string
	texts  []string
}

// add adds a statement whose signature is valid.
func (s *signedClaims) add(x concordat.Statement) error {
	switch x.Kind {
	case kindTell:
		t, err := wire.ParseAnswer(x.Payload)
		if err != nil {
			return err
		}
		for _, d := range t.Answer.Documents {
			s.titles[ask.HandleName(d.Handle)] = d.Title
		}
	case kindLeads:
		t, err := wire.ParseLeadAnswer(x.Payload)
		if err != nil {
			return err
		}
		for _, d := range t.Documents {
			s.titles[ask.HandleName(d.Handle)] = d.Title
		}
	case kindRevealed:
		r, err := wire.ParseRevealed(x.Payload)
		if err != nil {
			return err
		}
		for _, p := range r.Passages {
			s.texts = append(s.texts, strings.ToValidUTF8(p.Text, "\uFFFD")) // as shown in reports
		}
	}
	return nil
}

// attributed is the part of a report that makes claims about other sites.
type attributed struct {
	Evidence []struct {
		Sources []struct {
			Site     concordat.SiteID     `json:"site"`
			Library  concordat.LibraryID  `json:"library"`
			Document concordat.DocumentID `json:"document"`
			Title    string               `json:"title"`
			Text     string               `json:"text"`
		} `json:"sources"`
	} `json:"evidence"`
	Leads []struct {
		Source struct {
			Site     concordat.SiteID     `json:"site"`
			Library  concordat.LibraryID  `json:"library"`
			Document concordat.DocumentID `json:"document"`
			Title    string               `json:"title"`
		} `json:"source"`
		Text string `json:"text"`
	} `json:"leads"`
	Consulted []struct {
		Site    concordat.SiteID    `json:"site"`
		Library concordat.LibraryID `json:"library"`
		Mirror  string              `json:"mirror"`
	} `json:"consulted"`
}

// pieceBreak separates the pieces of a source's text (doc/format-report.md, Report).
const pieceBreak = "\n[…]\n"

// verifyAttribution compares a report's claims about partners with the statements that they signed, and describes the unsupported claims.
// good contains the statements with valid signatures. Mirrors make no statements for a report, so their matches are not signed.
func verifyAttribution(b []byte, good []concordat.Statement) ([]string, error) {
	var r attributed
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("report: %w: %w", concordat.ErrInvalid, err)
	}
	var problems []string
	told := map[concordat.SiteID]*signedClaims{}
	for _, x := range good {
		if told[x.Site] == nil {
			told[x.Site] = &signedClaims{titles: map[concordat.DocumentID]string{}}
		}
		if err := told[x.Site].add(x); err != nil {
			problems = append(problems, fmt.Sprintf("answer (%s) from site %s: %v", x.Kind, x.Site, err))
		}
	}
	mirrored := map[concordat.Ref]bool{}
	for _, c := range r.Consulted {
		mirrored[concordat.Ref{Site: c.Site, Library: c.Library}] = c.Mirror != ""
	}
	check := func(where string, ref concordat.Ref, title, text string) {
		if _, err := crypto.ParseSiteID(string(ref.Site)); err != nil || mirrored[concordat.Ref{Site: ref.Site, Library: ref.Library}] {
			return // a source at this site or in a mirror
		}
		where += ": site " + string(ref.Site)
		t := told[ref.Site]
		if t == nil {
			problems = append(problems, where+" signed no answers")
			return
		}
		signed, ok := t.titles[ref.Document]
		switch {
		case !ok:
			problems = append(problems, where+" did not name this document")
		case !strings.HasPrefix(lettersOnly(signed), lettersOnly(title)):
			problems = append(problems, where+" gave a different title")
		case !t.opened(text):
			problems = append(problems, where+" did not reveal this text")
		}
	}
	for i, e := range r.Evidence {
		for j, s := range e.Sources {
			check(fmt.Sprintf("evidence %d, source %d", i+1, j+1), concordat.Ref{Site: s.Site, Library: s.Library, Document: s.Document},
				s.Title, s.Text)
		}
	}
	for i, l := range r.Leads { // an empty line separates the places shown
		check(fmt.Sprintf("lead %d", i+1), concordat.Ref{Site: l.Source.Site, Library: l.Source.Library, Document: l.Source.Document},
			l.Source.Title, strings.ReplaceAll(l.Text, "\n\n", pieceBreak))
	}
	return problems, nil
}

// lettersOnly returns the letters and digits of a title, so that a shortened or cleaned title remains a prefix.
func lettersOnly(title string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, title)
}

// opened reports whether each piece of a source's text comes from a passage that the partner revealed.
func (s *signedClaims) opened(text string) bool {
	if text == "" {
		return true
	}
	for piece := range strings.SplitSeq(text, pieceBreak) {
		found := false
		for _, t := range s.texts {
			found = found || strings.Contains(t, piece)
		}
		if !found {
			return false
		}
	}
	return true
}

// askedFor fails if a statement does not answer the request that it contains.
func askedFor(s concordat.Statement) error {
	if len(s.Asked) == 0 {
		return nil
	}
	if d := crypto.DigestOf(s.Asked); hex.EncodeToString(d[:]) != hex.EncodeToString(s.Request) {
		return errors.New("the answer is to a different request from the one in the report")
	}
	return nil
}
