package signing

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
	"strings"
	"time"

	"concordat"
	"concordat/crypto/cms"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/report"
	"concordat/report/pdf"
	"concordat/store"
)

// Pages holds everything that the pages of a PDF report need besides the report.
type Pages struct {
	Site                 string // display name
	program              string // version of the program
	notes                []pdf.Note
	Certificate, KeyFile string // file names; empty for the site's own key
}

// PagesOf returns the Pages for a site's configuration and a program version.
func PagesOf(c *config.Config, program string, notes []pdf.Note) Pages {
	return Pages{cmp.Or(c.Site.Title, string(c.Site.ID)), program, notes, c.Report.Certificate, c.Report.Key}
}

// Notes returns what people wrote about a check.
func Notes(ctx context.Context, db *store.DB, id concordat.TaskID) ([]pdf.Note, error) {
	all, err := db.Checks.Reviews(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []pdf.Note
	for _, r := range all {
		n := pdf.Note{At: r.At, By: r.By, Kind: pdf.NoteKind(r.Kind), Text: r.Text}
		if r.Kind == store.ReviewComment {
			if err := json.Unmarshal(r.Data, &n.Place); err != nil {
				return nil, fmt.Errorf("comment on %s: %w: %v", id, concordat.ErrCorrupt, err)
			}
		}
		switch n.Kind {
		case pdf.NoteVerdict:
			if err := json.Unmarshal(r.Data, &n.Verdict); err != nil {
				return nil, fmt.Errorf("verdict on %s: %w: %v", id, concordat.ErrCorrupt, err)
			}
		case pdf.NoteComment, pdf.NoteSignOff:
		default:
			continue // for a change of the rules, the report shows the rules themselves
		}
		out = append(out, n)
	}
	return out, nil
}

// PDF returns the report as a PDF, signed unless s is nil.
func (s *Signer) PDF(rep *report.Report, p Pages, now time.Time) ([]byte, error) {
	body, err := s.JSON(rep)
	if err != nil {
		return nil, err
	}
	about := pdf.Options{Site: p.Site, Program: p.program, Notes: p.notes}
	files := []pdf.File{{Name: pdf.ReportFile, Type: "application/json", About: rep.Language.Say("The report in JSON"), Content: body}}
	if s == nil {
		pages, err := pdf.Write(rep, about)
		if err != nil {
			return nil, err
		}
		return pdf.Seal(pages, files, nil)
	}
	chain, key, err := s.Certificate(p, now)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(chain[0].Raw)
	about.Signing = rep.Language.Say("site %s, certificate with the SHA-256 %s", siteOf(s.id), groups(hex.EncodeToString(sum[:])))
	pages, err := pdf.Write(rep, about)
	if err != nil {
		return nil, err
	}
	list, err := s.objects(pages, sum, now)
	if err != nil {
		return nil, err
	}
	files = append(files, pdf.File{Name: pdf.ObjectsFile, Type: "application/json",
		About: rep.Language.Say("Digests of the pages, and the site's signature over them"), Content: list})
	size := cms.Overhead
	for _, c := range chain {
		size += len(c.Raw)
	}
	return pdf.Seal(pages, files, &pdf.Signature{Name: chain[0].Subject.CommonName,
		Reason: rep.Language.Say("Similarity report as this site made it"), At: now, Size: size,
		Sign: func(content []byte) ([]byte, error) { return cms.Sign(content, key, chain) }})
}

// groups separates hexadecimal digits by spaces, so that people can compare them.
func groups(s string) string {
	var out []string
	for i := 0; i < len(s); i += 8 {
		out = append(out, s[i:min(i+8, len(s))])
	}
	return strings.Join(out, " ")
}

// KindPDF is the kind of statement that signs the page list of a PDF report.
const KindPDF = "report-pdf"

// objects returns the page list with the certificate's digest in JSON, signed by the site.
func (s *Signer) objects(pages []byte, certificate [32]byte, now time.Time) ([]byte, error) {
	o := pdf.Objects{Version: pdf.ObjectsVersion, Site: siteOf(s.id), At: now.UTC().Truncate(time.Millisecond),
		Certificate: hex.EncodeToString(certificate[:]), Objects: pdf.ObjectsOf(pages)}
	sum, err := o.Sum()
	if err != nil {
		return nil, err
	}
	if o.KeyEpoch, o.Signature, err = s.id.SignStatement(KindPDF, o.At, [32]byte{}, sum[:]); err != nil {
		return nil, fmt.Errorf("sign the pages: %w", err)
	}
	return json.MarshalIndent(o, "", "  ")
}

// Certificate returns the signing certificate, its issuers' certificates, and its key, from the configuration or, if none are configured,
// the site's own.
func (s *Signer) Certificate(p Pages, now time.Time) ([]*x509.Certificate, crypto.Signer, error) {
	if p.Certificate == "" && p.KeyFile == "" {
		cert, key, err := s.id.ReportCertificate(now, p.Site)
		return []*x509.Certificate{cert}, key, err
	}
	chain, err := readChain(p.Certificate)
	if err != nil {
		return nil, nil, fmt.Errorf("report.certificate: %w", err)
	}
	key, err := readKey(p.KeyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("report.key: %w", err)
	}
	if public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(chain[0].PublicKey) {
		return nil, nil, errors.New("report.key does not match report.certificate")
	}
	if now.Before(chain[0].NotBefore) || now.After(chain[0].NotAfter) {
		return nil, nil, fmt.Errorf("report.certificate is valid only from %s to %s", chain[0].NotBefore.Format(time.DateOnly),
			chain[0].NotAfter.Format(time.DateOnly))
	}
	return chain, key, nil
}

// maxPEM is the maximum size of a file of certificates or keys, in bytes.
const maxPEM = 1 << 20

func readChain(path string) ([]*x509.Certificate, error) {
	b, err := instance.ReadBounded(path, maxPEM)
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
		return nil, fmt.Errorf("no certificate in %s", path)
	}
	return out, nil
}

func readKey(path string) (crypto.Signer, error) {
	b, err := instance.ReadBounded(path, maxPEM)
	if err != nil {
		return nil, err
	}
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			return nil, fmt.Errorf("no private key in %s", path)
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
			return nil, fmt.Errorf("%s: unsupported key; want an ECDSA key or an RSA key of at least 2048 bits", path)
		}
		return s, nil
	}
}
