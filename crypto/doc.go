// Package crypto holds everything that sites prove or hide with keys: the identity of a site and its keystore, the signed site card,
// enrolment, the sealed envelope between sites, signed statements, the secrets of a federation, and signed heads of the audit.
// doc/format-federation.md describes every byte. Connections and messages are not here (package federation). Open identity.go first, then
// card.go and envelope.go.
//
// Identity is the type to start from. It is immutable: methods that change it return a new one, so that a running site swaps one
// pointer, and messages in flight keep the keys with which they began.
//
// The package is pure: the time and the source of randomness are arguments, and keystores are bytes. Only the ephemeral key of an
// encapsulation is drawn by crypto/hpke itself, which takes no source. All input from outside is bounded before memory is allocated, and
// none of it causes a panic.
//
// The package does not detect replays; Verified says what a cache must remember, and until when.
package crypto

import (
	"errors"
	"time"
)

// Labels separate the purposes for which one key signs, derives or hashes: no label is a prefix of another. Two of them serve two purposes
// each, whose inputs have different lengths: labelSite precedes the hashed input for the name of a site (32 bytes) and for the serial of
// its certificate (64); labelRedeem precedes the input for the name of a token (16) and for its proof (80).
const (
	labelSite       = "concordat/site/1\x00"
	labelSiteCheck  = "concordat/site-check/1\x00"
	labelCard       = "concordat/card/1\x00"
	labelPossession = "concordat/tls-key/1\x00"
	labelSign       = "concordat/sign/1\x00"
	labelSeal       = "concordat/seal/1\x00"
	labelStatement  = "concordat/statement/1\x00"
	labelAnswer     = "concordat/statement/2\x00"
	labelInvitation = "concordat/invitation/1\x00"
	labelWords      = "concordat/words/1\x00"
	labelEnrol      = "concordat/enrol/1\x00"
	labelRedeem     = "concordat/redeem/1\x00"
	labelEnrolled   = "concordat/enrolled/1\x00"
	labelFederation = "concordat/federation/1"
	labelSecret     = "concordat/site-secret/1"
	labelCells      = "concordat/cells/1"
	labelKeystore   = "concordat/keystore/1\x00"
	labelHead       = "concordat/audit-head/1\x00"
	labelReportKey  = "concordat/report-key/1"
	labelGuest      = "concordat/guest/1\x00"
)

// How long keys and messages are valid, and how far clocks may differ.
const (
	Skew           = 2 * time.Minute // largest difference between two sites' clocks
	MaxTTL         = 10 * time.Minute
	CardLife       = 90 * 24 * time.Hour
	SigningLife    = 365 * 24 * time.Hour
	SigningOverlap = 30 * 24 * time.Hour
	SealingLife    = 8 * 24 * time.Hour // a week, and the overlap
	SealingOverlap = 24 * time.Hour
	// SealingAhead is how far ahead sealing keys are made for a card that is renewed every week.
	SealingAhead = 21 * 24 * time.Hour
	TLSLife      = 365 * 24 * time.Hour
	TLSOverlap   = 30 * 24 * time.Hour
	// SealingGrace is how long a sealing key is kept after its end. A message sealed at the last moment may be in transit for MaxTTL +
	// Skew, and one day more is allowed for messages that wait in queues.
	SealingGrace = MaxTTL + Skew + 24*time.Hour
	// Notice is how long a key is announced in the card before it signs; partners fetch cards daily.
	Notice = 48 * time.Hour
)

// Errors that callers distinguish. All others are faults of the caller or of the random source.
var (
	// ErrFormat means that the bytes do not have the expected form.
	ErrFormat = errors.New("malformed")
	// ErrSignature means that the signature was not made by the expected key.
	ErrSignature = errors.New("signature does not match")
	// ErrCard means that a card is not in force, belongs to another site, or is older than the one held.
	ErrCard = errors.New("site card refused")
	// ErrEnvelope means that an envelope comes from an unknown sender. Such envelopes all get the same answer, without a reason;
	// the error's text is for the log.
	ErrEnvelope = errors.New("envelope refused")
	// ErrStale means that an authentic envelope is outside its period of validity.
	ErrStale = errors.New("out of time")
	// ErrOpen means that an authentic envelope does not decrypt: it was sealed to a key that is gone, or
	// altered before it was signed.
	ErrOpen = errors.New("does not open")
	// ErrPassphrase means that the keystore does not open with this passphrase or key, or was altered.
	ErrPassphrase = errors.New("wrong passphrase or altered keystore")
	// ErrNoKey means that the identity has no key for this purpose at this time.
	ErrNoKey = errors.New("no key in force")
	// ErrInvitation means that an invitation has expired, has been used, or belongs to another site.
	ErrInvitation = errors.New("invitation refused")
)
