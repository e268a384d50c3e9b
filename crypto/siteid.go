package crypto

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

// SiteID identifies a site by the SHA-256 of its root key. A second key with the same identity cannot be made.
type SiteID [32]byte

// siteOf returns the identity of the site with this root key.
func siteOf(root ed25519.PublicKey) SiteID {
	return sha256.Sum256(append([]byte(labelSite), root...))
}

const (
	siteChars = 52 // base32 characters of 32 bytes
	siteParts = 4  // each with siteChars/siteParts characters and a check character
)

var base32Site = base32.StdEncoding.WithPadding(base32.NoPadding)

// String returns the text form: 52 base32 characters in four parts, each with a check character, written in groups of seven with hyphens
// between them, 63 characters in all.
func (s SiteID) String() string {
	plain := base32Site.EncodeToString(s[:])
	var b strings.Builder
	n := 0
	put := func(c byte) {
		if n > 0 && n%7 == 0 {
			b.WriteByte('-')
		}
		b.WriteByte(c)
		n++
	}
	const part = siteChars / siteParts
	for i := range siteParts {
		p := plain[i*part : (i+1)*part]
		for j := range part {
			put(p[j])
		}
		put(checkChar(p, i))
	}
	return b.String()
}

// Short returns the first group, for tables. It does not prove the site's identity.
func (s SiteID) Short() string { return s.String()[:7] }

// checkChar returns the check character of part i. It is a hash rather than a weighted sum, so it detects every change with the same
// probability, 31 in 32. It also detects swapped parts, since i is hashed too.
func checkChar(part string, i int) byte {
	h := sha256.Sum256(append([]byte(labelSiteCheck), append([]byte{byte(i)}, part...)...))
	return "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[h[0]>>3]
}

// ParseSiteID reads the text form. It ignores case, hyphens and spaces, and reads the digits 0, 1 and 8, which the form does not use, as
// the letters that they resemble: O, I and B. It fails with ErrFormat and names the part whose check character does not match.
func ParseSiteID(text string) (SiteID, error) {
	var s SiteID
	if len(text) > 128 {
		return s, fmt.Errorf("site: %w: too long: %d characters", ErrFormat, len(text))
	}
	clean := strings.NewReplacer("-", "", " ", "", "0", "O", "1", "I", "8", "B").Replace(strings.ToUpper(text))
	if len(clean) != siteChars+siteParts {
		return s, fmt.Errorf("site: %w: got %d characters, want %d", ErrFormat, len(clean), siteChars+siteParts)
	}
	const part = siteChars / siteParts
	var plain strings.Builder
	for i := range siteParts {
		p := clean[i*(part+1) : (i+1)*(part+1)]
		if checkChar(p[:part], i) != p[part] {
			return s, fmt.Errorf("site: %w: mistyped between characters %d and %d", ErrFormat, i*(part+1)+1, (i+1)*(part+1))
		}
		plain.WriteString(p[:part])
	}
	b, err := base32Site.DecodeString(plain.String())
	if err != nil || len(b) != len(s) {
		return s, fmt.Errorf("site: %w", ErrFormat)
	}
	copy(s[:], b)
	if base32Site.EncodeToString(s[:]) != plain.String() { // the bits beyond the 256th must be zero
		return SiteID{}, fmt.Errorf("site: %w", ErrFormat)
	}
	return s, nil
}

// MarshalText returns the text form of a SiteID, which JSON also uses.
func (s SiteID) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (s *SiteID) UnmarshalText(b []byte) error {
	v, err := ParseSiteID(string(b))
	if err == nil {
		*s = v
	}
	return err
}
