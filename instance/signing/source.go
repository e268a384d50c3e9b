package signing

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"concordat/crypto"
	"concordat/report"
)

// Source finds the signer of a site. It is safe for concurrent use.
type Source struct {
	find func() (*crypto.Identity, error)

	mu sync.Mutex // guards the fields below
	is *Signer
	at time.Time // when is was read
}

// NewSource returns a site's Source. find returns the site's identity, or nil if nothing is to be signed.
func NewSource(find func() (*crypto.Identity, error)) *Source { return &Source{find: find} }

// signerAge is how long a process signs with the keys that it has before it checks the keystore for new ones, because opening it costs
// memory and time.
const signerAge = time.Hour

// current returns the current signer, or nil if there is none.
func (s *Source) current(now time.Time) (*Signer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.at) < signerAge {
		return s.is, nil
	}
	id, err := s.find()
	if err != nil {
		return nil, err
	}
	if s.is = nil; id != nil {
		s.is = NewSigner(id)
	}
	s.at = now
	return s.is, nil
}

// JSON returns the report in JSON, signed if the site has keys.
func (s *Source) JSON(rep *report.Report) ([]byte, error) {
	is, err := s.current(time.Now())
	if err != nil {
		return nil, err
	}
	return is.JSON(rep)
}

// WriteJSON writes the report in JSON, signed if the site has keys.
func (s *Source) WriteJSON(w io.Writer, rep *report.Report) error {
	b, err := s.JSON(rep)
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// WritePDF writes the report as a PDF with its JSON attached, signed if the site has keys. If it fails, it has written nothing.
func (s *Source) WritePDF(w io.Writer, rep *report.Report, p Pages) error {
	is, err := s.current(time.Now())
	if err != nil {
		return err
	}
	b, err := is.PDF(rep, p, time.Now())
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// Receipt returns the signature for a receipt with the given SHA-256, or nil if the site has no keys.
func (s *Source) Receipt(sum [32]byte) (json.RawMessage, error) {
	is, err := s.current(time.Now())
	if err != nil || is == nil {
		return nil, err
	}
	out := ReceiptSignature{Site: siteOf(is.id), At: time.Now().UTC().Truncate(time.Millisecond), Sum: sum[:]}
	epoch, sig, err := is.id.SignStatement(KindReceipt, out.At, [32]byte{}, sum[:])
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	out.KeyEpoch, out.Signature = epoch, sig
	return json.Marshal(out)
}
