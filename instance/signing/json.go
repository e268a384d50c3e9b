package signing

import (
	"bytes"
	"fmt"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/report"
)

// Signer signs reports; a nil Signer signs nothing.
type Signer struct{ id *crypto.Identity }

// NewSigner returns a signer with an identity's keys.
func NewSigner(id *crypto.Identity) *Signer { return &Signer{id} }

// KindReport is the kind of statement that signs a report's manifest.
const KindReport = "report"

// JSON returns the report in JSON, signed unless s is nil.
func (s *Signer) JSON(rep *report.Report) ([]byte, error) {
	var b bytes.Buffer
	if err := report.WriteJSON(&b, rep); err != nil || s == nil {
		return b.Bytes(), err
	}
	items, err := report.Items(b.Bytes())
	if err != nil {
		return nil, err
	}
	m := &report.Manifest{Version: report.ManifestVersion, Site: siteOf(s.id), At: time.Now().UTC().Truncate(time.Millisecond), Items: items}
	sum := m.Sum()
	if m.KeyEpoch, m.Signature, err = s.id.SignStatement(KindReport, m.At, [32]byte{}, sum[:]); err != nil {
		return nil, fmt.Errorf("sign the report: %w", err)
	}
	return report.AddManifest(b.Bytes(), m)
}

// siteOf returns an identity's name as other sites know it.
func siteOf(id *crypto.Identity) concordat.SiteID { return concordat.SiteID(id.Site().String()) }
