package main

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"concordat"
	"concordat/config"
	"concordat/crypto/cms"
	"concordat/instance"
	"concordat/report"
	"concordat/report/pdf"
)

// pageOptions are what the pages of a PDF report need besides the report.
type pageOptions struct {
	site                 string // name for people
	notes                []pdf.Note
	certificate, keyFile string // files; empty: the site's own key
}

func pagesOf(c *config.Config, notes []pdf.Note) pageOptions {
	return pageOptions{cmp.Or(c.Site.Title, string(c.Site.ID)), notes, c.Report.Certificate, c.Report.Key}
}

// pdfNotes returns what people said about a check.
func pdfNotes(ctx context.Context, o *instance.Instance, id concordat.TaskID) ([]pdf.Note, error) {
	all, err := o.Store.Reviews(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []pdf.Note
	for _, r := range all {
		n := pdf.Note{At: r.At, By: r.By, Kind: pdf.NoteKind(r.Kind), Text: r.Text}
		switch n.Kind {
		case pdf.NoteVerdict:
			if err := json.Unmarshal(r.Data, &n.Verdict); err != nil {
				return nil, fmt.Errorf("verdict on %s: %w: %v", id, concordat.ErrCorrupt, err)
			}
		case pdf.NoteComment, pdf.NoteSignOff:
		default:
			continue // a change of rules, which the report shows
		}
		out = append(out, n)
	}
	return out, nil
}

// writeReportPDF writes the report as a PDF with its JSON attached, signed where the site has keys. Where
// it fails it has written nothing.
func (a *app) writeReportPDF(w io.Writer, rep *report.Report, p pageOptions) error {
	s, err := a.currentSigner(time.Now())
	if err != nil {
		return err
	}
	b, err := s.pdf(rep, p, time.Now())
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// mostPDFs bounds the PDF reports that are made at a time: a long one takes about 100 MB meanwhile.
const mostPDFs = 2

// pdfWriter returns what writes a report for the pages in a browser.
func pdfWriter(o *instance.Instance, a *app) func(context.Context, io.Writer, *report.Report, bool) error {
	turn := make(chan struct{}, mostPDFs)
	return func(ctx context.Context, w io.Writer, rep *report.Report, comments bool) error {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return ctx.Err()
		}
		var notes []pdf.Note
		if comments {
			var err error
			if notes, err = pdfNotes(ctx, o, rep.Task); err != nil {
				return err
			}
		}
		return a.writeReportPDF(w, rep, pagesOf(o.Now(), notes))
	}
}

// pdf returns the report as a PDF, signed if s is not nil.
func (s *signer) pdf(rep *report.Report, p pageOptions, now time.Time) ([]byte, error) {
	body, err := s.json(rep)
	if err != nil {
		return nil, err
	}
	about := pdf.Options{Site: p.site, Program: programVersion(), Notes: p.notes}
	files := []pdf.File{{Name: pdf.ReportFile, Type: "application/json", About: rep.Language.Say("The report in JSON"), Content: body}}
	if s == nil {
		pages, err := pdf.Write(rep, about)
		if err != nil {
			return nil, err
		}
		return pdf.Seal(pages, files, nil)
	}
	chain, key, err := s.certificate(p, now)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(chain[0].Raw)
	about.Signing = rep.Language.Say("site %s, certificate with the SHA-256 %s", instance.PartnerName(s.id.Site()), groups(hex.EncodeToString(sum[:])))
	pages, err := pdf.Write(rep, about)
	if err != nil {
		return nil, err
	}
	list, err := s.objects(pages, sum, now)
	if err != nil {
		return nil, err
	}
	files = append(files, pdf.File{Name: pdf.ObjectsFile, Type: "application/json", About: rep.Language.Say("Digests of the pages, and the site's signature over them"), Content: list})
	size := cms.Overhead
	for _, c := range chain {
		size += len(c.Raw)
	}
	return pdf.Seal(pages, files, &pdf.Signature{Name: chain[0].Subject.CommonName, Reason: rep.Language.Say("Similarity report as this site made it"), At: now, Size: size,
		Sign: func(content []byte) ([]byte, error) { return cms.Sign(content, key, chain) }})
}

// groups sets spaces into hexadecimal digits, to be compared by eye.
func groups(s string) string {
	var out []string
	for i := 0; i < len(s); i += 8 {
		out = append(out, s[i:min(i+8, len(s))])
	}
	return strings.Join(out, " ")
}

// pdfKind is the kind of the statement that signs the list of pages of a PDF report.
const pdfKind = "report-pdf"

// objects returns the list of pages with the certificate, signed by the site, in JSON.
func (s *signer) objects(pages []byte, certificate [32]byte, now time.Time) ([]byte, error) {
	o := pdf.Objects{Version: pdf.ObjectsVersion, Site: instance.PartnerName(s.id.Site()), At: now.UTC().Truncate(time.Millisecond),
		Certificate: hex.EncodeToString(certificate[:]), Objects: pdf.ObjectsOf(pages)}
	sum, err := o.Sum()
	if err != nil {
		return nil, err
	}
	if o.KeyEpoch, o.Signature, err = s.id.SignStatement(pdfKind, o.At, [32]byte{}, sum[:]); err != nil {
		return nil, fmt.Errorf("sign the pages: %w", err)
	}
	return json.MarshalIndent(o, "", "  ")
}

// certificate returns the certificate that signs, those above it, and its key: what the configuration
// names, else the site's own.
func (s *signer) certificate(p pageOptions, now time.Time) ([]*x509.Certificate, crypto.Signer, error) {
	if p.certificate == "" && p.keyFile == "" {
		cert, key, err := s.id.ReportCertificate(now, p.site)
		return []*x509.Certificate{cert}, key, err
	}
	chain, err := readChain(p.certificate)
	if err != nil {
		return nil, nil, fmt.Errorf("report.certificate: %w", err)
	}
	key, err := readKey(p.keyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("report.key: %w", err)
	}
	if public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(chain[0].PublicKey) {
		return nil, nil, errors.New("report.key is not the key of report.certificate")
	}
	if now.Before(chain[0].NotBefore) || now.After(chain[0].NotAfter) {
		return nil, nil, fmt.Errorf("report.certificate is in force from %s to %s only", chain[0].NotBefore.Format(time.DateOnly), chain[0].NotAfter.Format(time.DateOnly))
	}
	return chain, key, nil
}

// maxPEM bounds a file of certificates or keys, in bytes.
const maxPEM = 1 << 20

func readChain(path string) ([]*x509.Certificate, error) {
	b, err := readBounded(path, maxPEM)
	if err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, c)
	}
	if out == nil {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return out, nil
}

func readKey(path string) (crypto.Signer, error) {
	b, err := readBounded(path, maxPEM)
	if err != nil {
		return nil, err
	}
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			return nil, fmt.Errorf("%s holds no private key", path)
		}
		var key any
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		s, ok := key.(crypto.Signer)
		if r, isRSA := key.(*rsa.PrivateKey); !ok || isRSA && r.N.BitLen() < 2048 {
			return nil, fmt.Errorf("%s: a key of ECDSA or of RSA with 2048 bits or more is needed", path)
		}
		return s, nil
	}
}

// programVersion is the version that the binary was built from.
func programVersion() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		return b.Main.Version
	}
	return ""
}

// verifyPDF checks a report as a PDF: the report attached, the signature over all bytes, and that its
// certificate is the site's. It fails with concordat.ErrInvalid for what is no file of ours.
func verifyPDF(b []byte, cards cardsBySite) (*outcome, error) {
	s, err := pdf.Open(b)
	if err != nil {
		return nil, err
	}
	body, ok := s.File(pdf.ReportFile)
	if !ok {
		return nil, fmt.Errorf("pdf: %w: it has not one attachment %s", concordat.ErrInvalid, pdf.ReportFile)
	}
	out, err := verifyReport(body, cards)
	if err != nil {
		return nil, err
	}
	out.Problems = append(pdfProblems(b, s, cards), out.Problems...)
	out.OK = len(out.Problems) == 0
	return out, nil
}

// pdfProblems says what is wrong with the pages and their signature.
func pdfProblems(b []byte, s *pdf.Sealed, cards cardsBySite) []string {
	out := []string{}
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if s.Signature == nil {
		say("the pages are not signed")
		return out
	}
	if s.Added > 0 {
		say("%d bytes were added behind what is signed; a reader may show them instead of what was signed", s.Added)
	}
	var list *pdf.Objects
	raw, ok := s.File(pdf.ObjectsFile)
	err := fmt.Errorf("it has not one attachment %s", pdf.ObjectsFile)
	if ok {
		list, err = pdf.ParseObjects(raw)
	}
	var sum [32]byte
	if err == nil {
		sum, err = list.Sum()
	}
	if err == nil {
		err = cards.check(concordat.Statement{Site: list.Site, Kind: pdfKind, KeyEpoch: list.KeyEpoch, At: list.At, Request: make([]byte, 32), Payload: sum[:], Signature: list.Signature})
	}
	if err != nil {
		say("list of pages: %v", err)
	}
	cert, err := cms.Verify(s.Signature, s.Content)
	if err != nil {
		say("signature of the file: %v", err)
	}
	if list == nil {
		return out
	}
	if errors.Is(err, cms.ErrSignature) || s.Added > 0 {
		pages, other := list.Changed(b)
		for _, p := range pages {
			say("page %d was changed", p)
		}
		if other {
			say("a part that several pages share was changed, such as a font or the table of contents")
		}
	}
	if cert != nil {
		if is := sha256.Sum256(cert.Raw); hex.EncodeToString(is[:]) != strings.ToLower(list.Certificate) {
			say("the file is signed by another certificate (%s) than the one that site %s names", cert.Subject.CommonName, list.Site)
		}
	}
	return out
}
