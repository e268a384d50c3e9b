package program

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/federation/wire"
	"concordat/instance/signing"
	"concordat/report"
)

// answer returns an answer of the site to another site, as a report gets it from a reply.
func (s signingSite) answer(t *testing.T, to signingSite, kind string, job byte, text, salt string, payload []byte) concordat.Statement {
	t.Helper()
	a := crypto.Answer{Kind: kind, At: time.Now().UTC(), Asker: to.id.Site(), Job: [16]byte{job}, Request: [32]byte{9}, Payload: payload}
	out := concordat.Statement{Site: s.site, Kind: kind, Asker: to.site, At: a.At, Job: a.Job[:], Request: a.Request[:], Payload: payload}
	if beginsJob(kind) {
		a.Commitment = concordat.Commit([]byte(salt), sha256.Sum256([]byte(text)))
		out.Commitment, out.Salt = a.Commitment[:], []byte(salt)
	}
	var err error
	if out.KeyEpoch, out.Signature, err = s.id.SignAnswer(&a); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestV5Belonging: an answer with a valid signature is not evidence in another site's report, for another submission or under another
// job.
func TestV5Belonging(t *testing.T) {
	t.Parallel()
	own, other, north, south := newSigning(t, "own"), newSigning(t, "other"), newSigning(t, "north"), newSigning(t, "south")
	const text, salt = "Undertakings shall keep the records that are needed.", "a salt that nobody knows"
	payload, err := wire.AppendAnswer(nil, &wire.EpochAnswer{Epoch: concordat.Epoch{Federation: "health", Number: 1},
		Scheme: "natural@0123456789abcdef",
		Answer: concordat.SiteAnswer{Libraries: []concordat.LibraryAnswer{{Library: "laws", Level: concordat.ShowMetadata, Exists: true}}}})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := wire.AppendRevealed(nil, &concordat.Revealed{State: concordat.DisclosureGranted, Until: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	tell := north.answer(t, own, kindTell, 1, text, salt, payload)
	revealed := north.answer(t, own, kindRevealed, 1, text, salt, opened)
	older := north.statement(t, kindTell, string(payload))
	nothing, err := wire.AppendLeadAnswer(nil, &concordat.LeadAnswer{Table: "table"})
	if err != nil {
		t.Fatal(err)
	}
	leads := func(job byte, text string) concordat.Statement {
		return north.answer(t, own, kindLeads, job, text, salt, nothing)
	}
	opens := func(job byte) concordat.Statement { return north.answer(t, own, kindRevealed, job, text, salt, opened) }
	change := func(s concordat.Statement, f func(*concordat.Statement)) concordat.Statement {
		f(&s)
		return s
	}
	cards := cli.Cards{}
	if err := cards.Read([]string{own.card, other.card, north.card, south.card}); err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]struct {
		statements []concordat.Statement
		want       string // problem; empty if there is none
		unbound    int
	}{
		"as it was given": {[]concordat.Statement{tell, revealed}, "", 0},
		"to another site": {[]concordat.Statement{north.answer(t, other, kindTell, 1, text, salt, payload)},
			"the answer was given to site " + string(other.site), 0},
		"passages opened to another": {[]concordat.Statement{tell, north.answer(t, other, kindRevealed, 1, text, salt, opened)},
			"the answer was given to site", 0},
		"about another submission": {[]concordat.Statement{north.answer(t, own, kindTell, 1, "Another text.", salt, payload)},
			"about another submission", 0},
		"of another job": {[]concordat.Statement{tell, north.answer(t, own, kindRevealed, 2, text, salt, opened)},
			"belongs to another job", 0},
		"of the same job of another site": {[]concordat.Statement{tell, south.answer(t, own, kindRevealed, 1, text, salt, opened)},
			"belongs to another job", 0},
		"without the first round": {[]concordat.Statement{revealed}, "belongs to another job", 0},
		"without its salt": {[]concordat.Statement{change(tell, func(s *concordat.Statement) { s.Salt = nil })},
			"salt is missing", 0},
		"with another salt": {[]concordat.Statement{change(tell, func(s *concordat.Statement) { s.Salt = []byte("x") })},
			"about another submission", 0},
		"with another commitment": {[]concordat.Statement{change(tell, func(s *concordat.Statement) {
			sum := concordat.Commit(s.Salt, sha256.Sum256([]byte("x")))
			s.Commitment = sum[:]
		})}, "signature does not match", 0},
		"with a commitment of 31 bytes": {[]concordat.Statement{change(tell,
			func(s *concordat.Statement) { s.Commitment = s.Commitment[1:] })}, "wrong length", 0},
		"passed off as of an older version": {[]concordat.Statement{change(tell, func(s *concordat.Statement) { s.Asker = "" })},
			"signature does not match", 0},
		"leads, which are asked for under a job of their own": {[]concordat.Statement{tell, leads(2, text), opens(2)}, "", 0},
		"leads alone":                    {[]concordat.Statement{leads(2, text)}, "", 0},
		"opened before what they follow": {[]concordat.Statement{opens(2), revealed, leads(2, text), tell}, "", 0},
		"leads about another submission": {[]concordat.Statement{tell, leads(2, "Another text.")}, "about another submission", 0},
		"leads without their salt": {[]concordat.Statement{tell, change(leads(2, text), func(s *concordat.Statement) { s.Salt = nil })},
			"salt is missing", 0},
		"opened after leads of another text": {[]concordat.Statement{tell, leads(2, "Another text."), opens(2)}, "belongs to another job", 0},
		"of an older version":                {[]concordat.Statement{older}, "", 1},
		"passages opened after an update":    {[]concordat.Statement{older, revealed}, "", 2},
	} {
		rep := report.Build(&report.Findings{Version: report.Version, Task: "t1", Submission: concordat.Document{ID: "essay", Text: text},
			Made: time.Now(), Statements: k.statements}, report.Rules{})
		b, err := signing.NewSigner(own.id).JSON(rep)
		if err != nil {
			t.Fatal(err)
		}
		out, err := verifyReport(b, cards)
		if err != nil {
			t.Fatal(err)
		}
		if k.want == "" && !out.OK || k.want != "" && !slices.ContainsFunc(out.Problems,
			func(p string) bool { return strings.Contains(p, k.want) }) {
			t.Errorf("%s: %q, want %q", name, out.Problems, k.want)
		}
		if out.unbound() != k.unbound {
			t.Errorf("%s: %d answers name neither asker nor submission, want %d", name, out.unbound(), k.unbound)
		}
	}
	if _, err := newBelonging(own.site, strings.Repeat("0", 66), nil); err == nil {
		t.Error("a digest of 33 bytes was taken")
	}
	// The report states which parts of an older answer are not signed.
	var says strings.Builder
	rep := report.Build(&report.Findings{Version: report.Version, Submission: concordat.Document{ID: "essay", Text: text}, Made: time.Now(),
		Statements: []concordat.Statement{older, tell}}, report.Rules{})
	if err := report.WriteText(&says, rep); err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(says.String()), " ")
	if strings.Count(words, "names neither the site that asked nor the submission") != 1 || !strings.Contains(words, "to "+string(own.site)) {
		t.Errorf("the report does not say whom answers name: %s", words)
	}
	var j struct{ Statements []json.RawMessage }
	b, err := signing.NewSigner(own.id).JSON(rep)
	if err == nil {
		err = json.Unmarshal(b, &j)
	}
	if err != nil || strings.Contains(string(j.Statements[0]), "asker") || !strings.Contains(string(j.Statements[1]), `"salt"`) {
		t.Errorf("statements in JSON: %s, %v", j.Statements, err)
	}
}
