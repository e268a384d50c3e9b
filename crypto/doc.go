// Package crypto handles everything that sites prove or hide with keys: a site's identity and keystore, its signed card, enrolment,
// sealed envelopes between sites, signed statements, a federation's secrets, and signed audit heads. doc/format-federation.md describes
// every byte. Package federation handles connections and messages. Open identity.go first, then card.go and envelope.go.
//
// The main type is Identity. It is immutable; methods that change it return a new one, so a running site only swaps a pointer, and
// messages in transit keep their original keys.
//
// The package is pure: callers pass the time and the source of randomness, and keystores are bytes. The only exception is the ephemeral
// key of an encapsulation, which crypto/hpke draws itself, since it accepts no source. All outside input is bounded before memory is
// allocated, and none can cause a panic.
//
// The package does not detect replays; Verified describes what a replay cache must remember, and for how long.
package crypto

import (
	"errors"
	"time"
)

// Labels separate the purposes for which one key signs, derives or hashes; no label is a prefix of another. Two labels serve two purposes
// each, with inputs of different lengths. labelSite precedes the hash input for a site's name (32 bytes) and for its certificate's serial
// number (64); labelRedeem precedes the input for a token's name (16) and for its proof (80).
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

// These constants define how long keys and messages are valid, and how far clocks may differ.
const (
	Skew           = 2 * time.Minute // maximum difference between two sites' clocks
	MaxTTL         = 10 * time.Minute
	CardLife       = 90 * 24 * time.Hour
	SigningLife    = 365 * 24 * time.Hour
	SigningOverlap = 30 * 24 * time.Hour
	SealingLife    = 8 * 24 * time.Hour // a week plus the overlap
	SealingOverlap = 24 * time.Hour
	// SealingAhead is the period for which sealing keys are created in advance for a card renewed every week.
	SealingAhead = 21 * 24 * time.Hour
	TLSLife      = 365 * 24 * time.Hour
	TLSOverlap   = 30 * 24 * time.Hour
	// SealingGrace is how long a sealing key is kept after it ends. A message sealed at the last moment can be in transit for MaxTTL +
	// Skew; one more day allows for messages waiting in queues.
	SealingGrace = MaxTTL + Skew + 24*time.Hour
	// Notice is how long a card announces a key before the key signs; partners fetch cards daily.
	Notice = 48 * time.Hour
)

// These are the errors that callers distinguish. All others are faults of the caller or the random source.
var (
	// ErrFormat means that the bytes do not have the expected form.
	ErrFormat = errors.New("malformed")
	// ErrSignature means that the expected key did not make the signature.
	ErrSignature = errors.New("signature does not match")
	// ErrCard means that a card is not in force, belongs to another site, or is older than the stored one.
	ErrCard = errors.New("site card refused")
	// ErrEnvelope means that an envelope's sender is unknown. All such envelopes get the same answer, without a reason; the error's text
	// is for the log.
	ErrEnvelope = errors.New("envelope refused")
	// ErrStale means that an authentic envelope is outside its period of validity.
	ErrStale = errors.New("outside the validity period")
	// ErrOpen means that an authentic envelope cannot be decrypted: its key no longer exists, or it was altered before it was signed.
	ErrOpen = errors.New("cannot be decrypted")
	// ErrPassphrase means that the passphrase or key does not open the keystore, or that the keystore was altered.
	ErrPassphrase = errors.New("wrong passphrase or altered keystore")
	// ErrNoKey means that the identity has no key for this purpose at this time.
	ErrNoKey = errors.New("no valid key")
	// ErrInvitation means that an invitation has expired, was already used, or belongs to another site.
	ErrInvitation = errors.New("invitation refused")
)
