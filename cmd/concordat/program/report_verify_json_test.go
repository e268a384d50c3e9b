package program

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/instance"
	"concordat/instance/signing"
	"concordat/internal/suite"
	"concordat/report"
)

// signingSite is a site that signs, with the path of its card file.
type signingSite struct {
	id   *crypto.Identity
	site concordat.SiteID
	card string
}

func newSigning(t testing.TB, title string) signingSite {
	t.Helper()
	now := time.Now()
	id, err := crypto.New(now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id, card, err := id.MakeCard(crypto.CardFields{Name: title, URLs: []string{"https://" + title + ".example"}, Modes: crypto.ModeSealed},
		nil, now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), title+".card")
	if err := os.WriteFile(path, card.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return signingSite{id, instance.PartnerName(id.Site()), path}
}

// statement returns an answer signed in the way of earlier versions, which named neither requester nor submission.
func (s signingSite) statement(t *testing.T, kind, payload string) concordat.Statement {
	t.Helper()
	at := time.Now().UTC()
	request := crypto.DigestOf([]byte("the request"))
	epoch, sig, err := s.id.SignStatement(kind, at, request, []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	return concordat.Statement{Site: s.site, Kind: kind, KeyEpoch: epoch, At: at, Request: request[:], Payload: []byte(payload),
		Signature: sig}
}

// TestVerifyReport signs a report with answers of two partners and changes every part of it.
func TestVerifyReport(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: runs dozens of commands in a row")
	}
	own, north, south := newSigning(t, "own"), newSigning(t, "north"), newSigning(t, "south")
	text := "Undertakings shall keep the records that are needed. The rest is nobody's."
	rep := report.Build(&report.Findings{
		Version: report.Version, Task: "t1", Submission: concordat.Document{ID: "essay", Title: "Essay", Text: text},
		Made: time.Now(), Statements: []concordat.Statement{north.statement(t, "outlines", "one hit"), south.statement(t, "outlines", "no hit")},
		Consulted: []concordat.Consulted{{Site: north.site, Library: "laws", Asked: 2, Answered: 2}},
		Flags:     []concordat.Flag{{Code: "hidden", Count: 2}},
	}, report.Rules{})
	good, err := signing.NewSigner(own.id).JSON(rep)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	verify := func(b []byte, cards ...string) (int, *verification) {
		t.Helper()
		path := filepath.Join(dir, "report.json")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"--json", "report", "verify", path}
		for _, c := range cards {
			args = append(args, "--card", c)
		}
		var out, errs bytes.Buffer
		code := Run(t.Context(), args, strings.NewReader(""), &out, &errs)
		o := &verification{}
		if code != cli.Misused {
			if err := json.Unmarshal(out.Bytes(), o); err != nil {
				t.Fatalf("%v: %s%s", err, out.String(), errs.String())
			}
		}
		return code, o
	}
	all := []string{own.card, north.card, south.card}
	if code, o := verify(good, all...); code != cli.Done || !o.OK || o.Site != own.site || len(o.Statements) != 2 {
		t.Fatalf("the report as it was signed: exit code %d, %+v", code, o)
	}

	b64 := base64.StdEncoding.EncodeToString
	forged := south.statement(t, "outlines", "no hit at all") // signed by another site under north's name
	for name, k := range map[string]struct {
		from, to string
		cards    []string
		want     string
	}{
		"text of the submission": {`"title": "Essay"`, `"title": "Other"`, all, "submission: title changed"},
		"flag":                   {`"code": "hidden"`, `"code": "shown!"`, all, "flag 1: code changed"},
		"line of what was asked": {`"answered": 2`, `"answered": 3`, all, "consulted 1: answered changed"},
		"a partner's answer":     {b64([]byte("one hit")), b64([]byte("no hits")), all, "statement 1: payload changed"},
		"its signature too": {b64([]byte("one hit")), b64([]byte("no hits")), all, "answer (outlines) from site " + string(north.site) +
			" at "},
		"the signature of it":    {b64(rep.Statements[0].Signature), b64(forged.Signature), all, "the signature does not match the card of the signing site"},
		"whose answer it is":     {string(north.site), string(south.site), all, "the signature does not match the card of the signing site"},
		"moment of signing":      {`"key_epoch": 1`, `"key_epoch": 2`, all, "list no key that was valid at the time of signing"},
		"partner's card missing": {"", "", []string{own.card, south.card}, "from site " + string(north.site)},
		"own card missing": {"", "", []string{north.card, south.card}, "manifest of site " + string(own.site) +
			": no card is available for the signing site"},
	} {
		bad := bytes.ReplaceAll(good, []byte(k.from), []byte(k.to))
		if k.from == "" {
			bad = good
		} else if bytes.Equal(bad, good) {
			t.Fatalf("%s: nothing was changed", name)
		}
		code, o := verify(bad, k.cards...)
		if code != cli.Failed || o.OK || !slices.ContainsFunc(o.Problems, func(p string) bool { return strings.Contains(p, k.want) }) {
			t.Errorf("%s: exit code %d, %q; want %q", name, code, o.Problems, k.want)
		}
	}

	// Changing the manifest along with the report does not help without the manifest's key.
	changed := bytes.Replace(good, []byte(`"code": "hidden"`), []byte(`"code": "shown!"`), 1)
	items, err := report.Items(changed)
	if err != nil {
		t.Fatal(err)
	}
	m, err := report.ReadManifest(good)
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range m.Items {
		changed = bytes.Replace(changed, []byte(item.String()), []byte(items[i].String()), 1)
	}
	if code, o := verify(changed, all...); code != cli.Failed || len(o.Problems) != 1 ||
		!strings.HasPrefix(o.Problems[0], "cannot verify the manifest of site ") {
		t.Errorf("changed with its manifest: exit code %d, %q", code, o.Problems)
	}

	// A byte is changed at every 12th position here and at every third in make rest. The result never verifies with different content.
	everything := func(b []byte) string {
		var v any
		if json.Unmarshal(b, &v) != nil {
			return "not JSON"
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	cards := cli.Cards{}
	if err := cards.Read(all); err != nil {
		t.Fatal(err)
	}
	want, seen, tried := everything(good), 0, 0
	stride := 24 / suite.Rounds(2, 8)
	for i := 0; i < len(good); i += stride {
		tried++
		bad := bytes.Clone(good)
		bad[i] ^= 1
		o, err := verifyReport(bad, cards)
		if err != nil || !o.OK {
			seen++
			continue
		}
		if got := everything(bad); got != want {
			t.Fatalf("byte %d (%q) changed what the report says, unseen: %.200s", i, good[max(0, i-20):i+5], diffAt(got, want))
		}
	}
	if seen < tried*3/4 {
		t.Errorf("%d of %d changes were seen", seen, tried)
	}

	unsigned, err := (*signing.Signer)(nil).JSON(rep)
	if err != nil {
		t.Fatal(err)
	}
	if code, o := verify(unsigned, all...); code != cli.Failed || !slices.Contains(o.Problems, "the report is not signed") {
		t.Errorf("unsigned: exit code %d, %q", code, o.Problems)
	}
	for _, bad := range []string{"", "{", "[]", `{"manifest": 1}`} {
		if code, _ := verify([]byte(bad), all...); code != cli.Misused && bad != "[]" {
			t.Errorf("%q: exit code %d, want %d", bad, code, cli.Misused)
		}
	}
}

func diffAt(a, b string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%s, was %s", a[max(0, i-20):min(len(a), i+60)], b[max(0, i-20):min(len(b), i+60)])
		}
	}
	return "longer"
}
