package program

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cmd/cli"
	"concordat/crypto/cms"
	"concordat/instance/signing"
	"concordat/report"
	"concordat/report/pdf"
)

// longReport returns a report with several pages of passages.
func longReport(n int) *report.Report {
	var text strings.Builder
	f := &report.Findings{Version: report.Version, Task: "t1", Made: time.Now(), Scheme: "natural@7c1d52be90aa41f3", Forward: "none"}
	for i := range n {
		from := text.Len()
		fmt.Fprintf(&text, "Undertakings shall keep the records of the year %d that are needed to show what they did, and 保存记录不少于十年。", i)
		f.Passages = append(f.Passages, concordat.Passage{Span: concordat.Span{Start: from, End: text.Len()}, Kind: concordat.KindNear,
			Similarity: 0.9,
			Source:     concordat.Ref{Site: "s", Library: "laws", Document: concordat.DocumentID(strconv.Itoa(i % 50))}, Title: "Law " +
				strconv.Itoa(i%50),
			SourceSpan: concordat.Span{End: text.Len() - from}, Text: text.String()[from:]})
		text.WriteString("\n\nNobody else has said this before in any other year but " + strconv.Itoa(i) + ", as far as anybody knows.\n\n")
	}
	f.Submission = concordat.Document{ID: "essay", Title: "Essay", Text: text.String()}
	return report.Build(f, report.Rules{})
}

func cardsOf(t *testing.T, files ...string) cli.Cards {
	t.Helper()
	cards := cli.Cards{}
	if err := cards.Read(files); err != nil {
		t.Fatal(err)
	}
	return cards
}

// TestVerifyPDF signs a report as a PDF and changes every part of it.
func TestVerifyPDF(t *testing.T) {
	t.Parallel()
	own, other := newSigning(t, "own"), newSigning(t, "other")
	good, err := signing.NewSigner(own.id).PDF(longReport(40), signing.Pages{Site: "Own"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cards := cardsOf(t, own.card)
	if out, err := verifyPDF(good, cards); err != nil || !out.OK || out.Site != own.site {
		t.Fatalf("as it was made: %+v, %v", out, err)
	}
	foreign, err := signing.NewSigner(other.id).PDF(longReport(40), signing.Pages{Site: "Own"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := (*signing.Signer)(nil).PDF(longReport(2), signing.Pages{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	content := func(object int) int { // the middle of an object's stream
		return bytes.Index(good, []byte(fmt.Sprintf("\n%d 0 obj\n", object))) + 120
	}
	for name, x := range map[string]struct {
		b    []byte
		want string // part of the reported problem
	}{
		"page 1":                {change(content(4)), "page 1 was changed"},
		"page 3":                {change(content(8)), "page 3 was changed"},
		"one byte of the title": {change(bytes.Index(good, []byte("/Title (")) + 12), "a part shared by several pages"},
		"added":                 {append(bytes.Clone(good), "% more\n"...), "7 bytes were added"},
		"another page on top":   {append(bytes.Clone(good), "8 0 obj\n<<>>\nendobj\n"...), "bytes were added"},
		"signature":             {change(bytes.Index(good, []byte("/Contents <3082")) + 900), "signature of the file"},
		"unknown site":          {foreign, "no card is available for the signing site"},
		"unsigned":              {plain, "the pages are not signed"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := verifyPDF(x.b, cards)
			if err != nil {
				if name == "signature" { // a changed digit can become another character
					return
				}
				t.Fatal(err)
			}
			if out.OK || !slices.ContainsFunc(out.Problems, func(p string) bool { return strings.Contains(p, x.want) }) {
				t.Errorf("problems %q, want one with %q", out.Problems, x.want)
			}
		})
	}
}

// TestForeignCertificate: another party's signature over the site's own words does not count as the site's signature.
func TestForeignCertificate(t *testing.T) {
	t.Parallel()
	own, thief := newSigning(t, "own"), newSigning(t, "thief")
	good, err := signing.NewSigner(own.id).PDF(longReport(4), signing.Pages{Site: "Own"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s, err := pdf.Open(good)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := pdf.Write(longReport(1), pdf.Options{Site: "Own"}) // different pages
	if err != nil {
		t.Fatal(err)
	}
	chain, key, err := signing.NewSigner(thief.id).Certificate(signing.Pages{Site: "Own"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	forged, err := pdf.Seal(pages, s.Files, &pdf.Signature{At: time.Now(), Size: 4000,
		Sign: func(b []byte) ([]byte, error) { return cms.Sign(b, key, chain) }})
	if err != nil {
		t.Fatal(err)
	}
	out, err := verifyPDF(forged, cardsOf(t, own.card))
	if err != nil {
		t.Fatal(err)
	}
	if out.OK || !slices.ContainsFunc(out.Problems, func(p string) bool { return strings.Contains(p, "that differs from the one") }) {
		t.Errorf("problems %q, want one about the certificate", out.Problems)
	}
}

// TestOtherReaders: other vendors' programs accept the signature, with the site's own key and with a configured key.
func TestOtherReaders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pdfsig", "openssl", "qpdf"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not here: %v", name, err)
		}
	}
	own := newSigning(t, "own")
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]signing.Pages{"own key": {Site: "北方大学 Own"}, "ECDSA": configured(t, ec, &ec.PublicKey),
		"RSA": configured(t, rs, &rs.PublicKey)} {
		t.Run(name, func(t *testing.T) {
			b, err := signing.NewSigner(own.id).PDF(longReport(3), p, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if out, err := verifyPDF(b, cardsOf(t, own.card)); err != nil || !out.OK {
				t.Errorf("report verify: %+v, %v", out, err)
			}
			dir := t.TempDir()
			file := filepath.Join(dir, "r.pdf")
			keep(t, file, b)
			out, err := exec.Command("pdfsig", file).CombinedOutput()
			if err != nil || !regexp.MustCompile(`Signature is Valid`).Match(out) || !bytes.Contains(out, []byte("Total document signed")) {
				t.Errorf("pdfsig: %v\n%s", err, out)
			}
			s, err := pdf.Open(b)
			if err != nil {
				t.Fatal(err)
			}
			keep(t, filepath.Join(dir, "content"), s.Content)
			keep(t, filepath.Join(dir, "signature"), s.Signature)
			c := exec.Command("openssl", "cms", "-verify", "-inform", "DER", "-in", "signature", "-content", "content", "-noverify", "-binary",
				"-out", os.DevNull)
			c.Dir = dir
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("openssl: %v\n%s", err, out)
			}
			if out, err := exec.Command("qpdf", "--check", file).CombinedOutput(); err != nil {
				t.Errorf("qpdf: %v\n%s", err, out)
			}
			out, err = exec.Command("qpdf", "--show-attachment="+pdf.ReportFile, file).Output()
			if want, _ := s.File(pdf.ReportFile); err != nil || !bytes.Equal(out, want) {
				t.Errorf("qpdf finds %d bytes of report, %v; want %d", len(out), err, len(want))
			}
		})
	}
}

func keep(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// configured writes a key and its certificate as an administrator would.
func configured(t *testing.T, key, public any) signing.Pages {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "Examination Office"},
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := signing.Pages{Site: "Own", Certificate: filepath.Join(dir, "chain.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	keep(t, p.Certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	keep(t, p.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
	return p
}

// TestKeyOfAnotherCertificate: a key that does not match the certificate is refused before anything is signed.
func TestKeyOfAnotherCertificate(t *testing.T) {
	t.Parallel()
	own := newSigning(t, "own")
	a, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := configured(t, a, &a.PublicKey)
	p.KeyFile = configured(t, b, &b.PublicKey).KeyFile
	if _, err := signing.NewSigner(own.id).PDF(longReport(1), p, time.Now()); err == nil ||
		!strings.Contains(err.Error(), "does not match report.certificate") {
		t.Errorf("got %v", err)
	}
}
