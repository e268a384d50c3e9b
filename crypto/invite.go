package crypto

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"
)

// InvitationLife is how long an invitation can be redeemed unless its creator chooses a different period.
const InvitationLife = 72 * time.Hour

const invitationPrefix = "concordat-invite-1."

// Invitation invites one site, once, to become a partner. Its text is a secret between the two administrators until it is redeemed; the
// inviting site stores only TokenHash and Digest.
type Invitation struct {
	Site   SiteID // the inviting site
	Token  [16]byte
	Expiry time.Time // in whole milliseconds
	URL    string    // https address of the inviting site
}

// Invite creates an invitation valid for life from now.
func (id *Identity) Invite(url string, life time.Duration, now time.Time, random io.Reader) (*Invitation, error) {
	if err := checkURL(url); err != nil {
		return nil, err
	}
	token, err := draw(random, 16)
	if err != nil {
		return nil, err
	}
	return &Invitation{Site: id.Site(), Token: [16]byte(token), Expiry: milli(now.Add(life)), URL: url}, nil
}

func (i *Invitation) bytes() []byte {
	b := append([]byte{1}, i.Site[:]...)
	b = append(b, i.Token[:]...)
	b = append(appendTime(b, i.Expiry), i.URL...)
	sum := sha256.Sum256(append([]byte(labelInvitation), b...))
	return append(b, sum[:4]...) // invitations are copied by hand, so truncation must be detected
}

// String returns the text for the invited site.
func (i *Invitation) String() string {
	return invitationPrefix + base64.RawURLEncoding.EncodeToString(i.bytes())
}

// ParseInvitation reads an invitation's text, ignoring white space around and within it. It fails with ErrFormat. Only the inviting site
// knows whether the invitation is still valid, apart from Expiry.
func ParseInvitation(text string) (*Invitation, error) {
	if len(text) > 4096 {
		return nil, fmt.Errorf("invitation: %w: too long: %d characters", ErrFormat, len(text))
	}
	rest, ok := strings.CutPrefix(strings.Join(strings.Fields(text), ""), invitationPrefix)
	if !ok {
		return nil, fmt.Errorf("invitation: %w: missing %s prefix", ErrFormat, invitationPrefix)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if err != nil || len(b) < 1+32+16+8+4 {
		return nil, fmt.Errorf("invitation: %w: truncated or altered", ErrFormat)
	}
	d := &decoder{b: b[:len(b)-4]}
	version := d.u8()
	i := &Invitation{Site: d.array32(), Token: d.array16(), Expiry: d.time()}
	i.URL = d.text(len(d.b))
	if version != 1 {
		return nil, fmt.Errorf("invitation: %w: unsupported version %d; want version 1", ErrFormat, version)
	}
	if d.end("invitation") != nil || string(i.bytes()) != string(b) {
		return nil, fmt.Errorf("invitation: %w: truncated or altered", ErrFormat)
	}
	return i, checkURL(i.URL)
}

// TokenHash returns the hash by which the inviting site recognises the token.
func (i *Invitation) TokenHash() [32]byte { return tokenHash(i.Token) }

func tokenHash(token [16]byte) [32]byte {
	return sha256.Sum256(append([]byte(labelRedeem), token[:]...))
}

// Digest returns the value that represents the invitation in the six words.
func (i *Invitation) Digest() [32]byte { return sha256.Sum256(i.bytes()) }
