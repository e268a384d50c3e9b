package instance

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/store"
)

// AuditHeadName is the file in the site's folder with the signed head of the audit. Someone who removes the last entries from the store
// cannot sign an earlier head. The file consists of one line in the format of audit export.
const AuditHeadName = "audit.head"

// SignedHead is the signed head of an audit as a line of JSON.
type SignedHead struct {
	Site crypto.SiteID `json:"site"`
	Seq  uint64        `json:"seq"`
	Hash string        `json:"hash"`
	Head []byte        `json:"head"` // signed head; base64 in JSON
}

// SignedHeadOf converts a head to a line.
func SignedHeadOf(h *crypto.Head) SignedHead {
	return SignedHead{Site: h.Site, Seq: h.Seq, Hash: hex.EncodeToString(h.Hash[:]), Head: h.Bytes()}
}

// SignHead signs the head of the audit.
func SignHead(id *crypto.Identity, end store.AuditHead, now time.Time) (*crypto.Head, error) {
	var hash [32]byte
	if end.Seq > 0 {
		b, err := hex.DecodeString(end.Hash)
		if err != nil || len(b) != len(hash) {
			return nil, fmt.Errorf("%w: invalid hash of the last audit entry: %q", concordat.ErrCorrupt, end.Hash)
		}
		copy(hash[:], b)
	}
	return id.SignHead(uint64(end.Seq), hash, now)
}

// KeptHead returns the audit head that the site last signed and stored outside the store; ok is false if there is none. If no card of the
// site verifies the head, it fails with concordat.ErrCorrupt.
func KeptHead(ctx context.Context, dir string, db *store.DB) (head store.AuditHead, ok bool, err error) {
	b, err := ReadBounded(filepath.Join(dir, AuditHeadName), 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return head, false, nil
	}
	if err != nil {
		return head, false, err
	}
	var line SignedHead
	if err := json.Unmarshal(b, &line); err != nil {
		return head, false, fmt.Errorf("%s: %w: %w", AuditHeadName, concordat.ErrCorrupt, err)
	}
	head, err = checkedHead(ctx, db, line.Head)
	if err != nil {
		return head, false, fmt.Errorf("%s: %w", AuditHeadName, err)
	}
	return head, true, nil
}

// checkedHead returns a signed head if one of its site's cards in the store verifies it.
func checkedHead(ctx context.Context, db *store.DB, signed []byte) (store.AuditHead, error) {
	h, err := crypto.ParseHead(signed)
	if err != nil {
		return store.AuditHead{}, fmt.Errorf("%w: %w", concordat.ErrCorrupt, err)
	}
	cards, err := db.Partners.Cards(ctx, PartnerName(h.Site))
	if err != nil {
		return store.AuditHead{}, err
	}
	for _, s := range cards {
		if c, err := crypto.ParseCard(s.Card); err == nil && h.Check(c) == nil {
			return store.AuditHead{Seq: int64(h.Seq), Hash: hex.EncodeToString(h.Hash[:])}, nil
		}
	}
	return store.AuditHead{}, fmt.Errorf("%w: the audit head is not signed with a key of this site", concordat.ErrCorrupt)
}

// AuditEnds compares the last entry of the audit with the kept head. If entries at the end are missing or different, it fails with
// concordat.ErrCorrupt.
func AuditEnds(ctx context.Context, dir string, db *store.DB) (end, kept store.AuditHead, err error) {
	if end, err = db.Audit.AuditHead(ctx); err != nil {
		return end, kept, err
	}
	kept, ok, err := KeptHead(ctx, dir, db)
	if err != nil || !ok {
		return end, kept, err
	}
	if end.Seq < kept.Seq {
		return end, kept, fmt.Errorf("%w: the audit ends with entry %d, but this site has signed entry %d: the last entries are missing",
			concordat.ErrCorrupt, end.Seq, kept.Seq)
	}
	if kept.Seq == 0 {
		return end, kept, nil
	}
	es, err := db.Audit.Audit(ctx, kept.Seq-1, 1)
	if err == nil && (len(es) == 0 || es[0].Hash != kept.Hash) {
		err = fmt.Errorf("%w: audit entry %d differs from the entry that this site signed", concordat.ErrCorrupt, kept.Seq)
	}
	return end, kept, err
}

// If the audit has grown, KeepAuditHead signs its head and stores it outside the store. It fails like AuditEnds, without changing the
// kept head. A site without a usable keystore keeps no head.
func KeepAuditHead(ctx context.Context, dir string, db *store.DB) error {
	if db == nil {
		return nil
	}
	end, kept, err := AuditEnds(ctx, dir, db)
	if err != nil || end == kept {
		return err
	}
	id, err := SigningIdentity(dir, nil)
	if err != nil || id == nil {
		return err
	}
	h, err := SignHead(id, end, time.Now())
	if err != nil {
		return err
	}
	b, err := JSONLine(SignedHeadOf(h))
	if err != nil {
		return err
	}
	return keyfile.Replace(filepath.Join(dir, AuditHeadName), append(b, '\n'))
}
