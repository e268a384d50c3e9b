package program

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"concordat"
	"concordat/cmd/cli"
	"concordat/crypto/cms"
	"concordat/instance/signing"
	"concordat/report/pdf"
)

// verifyPDF verifies the report attached to a PDF and the signature over the whole file, and checks that the certificate belongs to the
// site. If the file is not a report from this program, it fails with concordat.ErrInvalid.
func verifyPDF(b []byte, cards cli.Cards) (*verification, error) {
	s, err := pdf.Open(b)
	if err != nil {
		return nil, err
	}
	body, ok := s.File(pdf.ReportFile)
	if !ok {
		return nil, fmt.Errorf("pdf: %w: the file must have exactly one attachment named %s", concordat.ErrInvalid, pdf.ReportFile)
	}
	out, err := verifyReport(body, cards)
	if err != nil {
		return nil, err
	}
	out.Problems = append(pdfProblems(b, s, cards), out.Problems...)
	out.OK = len(out.Problems) == 0
	return out, nil
}

// pdfProblems describes faults of the pages and their signature.
func pdfProblems(b []byte, s *pdf.Sealed, cards cli.Cards) []string {
	out := []string{}
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if s.Signature == nil {
		say("the pages are not signed")
		return out
	}
	if s.Added > 0 {
		say("%d bytes were added after the signed part; PDF viewers may show them instead of the signed content", s.Added)
	}
	if s.Rewritten {
		say("the position of the signature was changed")
	}
	var list *pdf.Objects
	raw, ok := s.File(pdf.ObjectsFile)
	err := fmt.Errorf("the file must have exactly one attachment named %s", pdf.ObjectsFile)
	if ok {
		list, err = pdf.ParseObjects(raw)
	}
	var sum [32]byte
	if err == nil {
		sum, err = list.Sum()
	}
	if err == nil {
		err = cards.Check(concordat.Statement{Site: list.Site, Kind: signing.KindPDF, KeyEpoch: list.KeyEpoch, At: list.At,
			Request: make([]byte, 32), Payload: sum[:], Signature: list.Signature})
	}
	if err != nil {
		say("cannot verify the list of pages: %v", err)
	}
	cert, err := cms.Verify(s.Signature, s.Content)
	if err != nil {
		say("cannot verify the signature of the file: %v", err)
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
			say("a part shared by several pages, such as a font or the table of contents, was changed")
		}
	}
	if cert != nil {
		if is := sha256.Sum256(cert.Raw); hex.EncodeToString(is[:]) != strings.ToLower(list.Certificate) {
			say("the file is signed with a certificate (%s) that differs from the one named by site %s", cert.Subject.CommonName, list.Site)
		}
	}
	return out
}
