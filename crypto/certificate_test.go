package crypto_test

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"testing"
	"time"

	"concordat/crypto"
)

// TestReportCertificate: the same identity always makes the same certificate, and a different identity makes a different one.
func TestReportCertificate(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	id, err := crypto.New(now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a, key, err := id.ReportCertificate(now, "Northern University")
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := id.ReportCertificate(now.Add(time.Hour), "Northern University")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Raw, b.Raw) {
		t.Error("the certificate differs an hour later")
	}
	if err := a.CheckSignature(x509.ECDSAWithSHA256, a.RawTBSCertificate, a.Signature); err != nil {
		t.Error(err)
	}
	if !key.PublicKey.Equal(a.PublicKey) {
		t.Error("the key is not the certificate's")
	}
	other, err := crypto.New(now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if c, _, err := other.ReportCertificate(now, "Northern University"); err != nil || bytes.Equal(a.Raw, c.Raw) ||
		c.SerialNumber.Cmp(a.SerialNumber) == 0 {
		t.Errorf("another site: %v, certificate %v", err, c.SerialNumber)
	}
	if _, _, err := id.ReportCertificate(now.Add(10*365*24*time.Hour), ""); err == nil {
		t.Error("a certificate without a signing key in force")
	}
}
