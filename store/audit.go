package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"concordat"
	"concordat/store/engine"
)

// auditLabel is the start of the hashed data. It distinguishes these hashes from all other uses of SHA-256; a new format needs a new
// label.
const auditLabel = "concordat/audit/v1"

// AuditEntry is one entry in the audit log. Each entry contains the hash of the previous one, so changing, removing or moving an entry
// breaks the chain from there on.
type AuditEntry struct {
	Seq    int64           `json:"seq"` // from 1, without gaps
	At     time.Time       `json:"at"`
	Actor  string          `json:"actor"`
	Action string          `json:"action"`
	Detail json.RawMessage `json:"detail"`
	Prev   string          `json:"prev"` // Hash of the previous entry, 64 hexadecimal digits; zeros for the first
	Hash   string          `json:"hash"`
}

// AuditHead identifies one entry and thereby everything before it, so a head stored elsewhere later shows whether the audit log was
// rewritten.
type AuditHead struct {
	Seq  int64 // 0 for an empty audit log
	Hash string
}

var auditRoot = hex.EncodeToString(make([]byte, sha256.Size))

// sum returns the hash of e: SHA-256 over the label and a zero byte, the 32 bytes of Prev, Seq and At (microseconds since 1970) as 8
// bytes each, then Actor, Action and Detail, each prefixed with its length as 8 bytes. Numbers are big-endian.
func (e AuditEntry) sum() (string, error) {
	prev, err := hex.DecodeString(e.Prev)
	if err != nil || len(prev) != sha256.Size {
		return "", fmt.Errorf("%w: the previous hash %q is not valid", concordat.ErrCorrupt, e.Prev)
	}
	b := append([]byte(auditLabel), 0)
	b = append(b, prev...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Seq))
	b = binary.BigEndian.AppendUint64(b, uint64(stamp(e.At)))
	for _, s := range []string{e.Actor, e.Action, string(e.Detail)} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:]), nil
}

const auditColumns = `seq, at, actor, action, detail, prev, hash`

func scanAudit(s engine.Scanner) (AuditEntry, error) {
	var e AuditEntry
	var at int64
	var detail string
	err := s.Scan(&e.Seq, &at, &e.Actor, &e.Action, &detail, &e.Prev, &e.Hash)
	e.At, e.Detail = instant(at), json.RawMessage(detail)
	return e, err
}

func auditHead(ctx context.Context, c engine.Conn) (AuditHead, error) {
	h := AuditHead{Hash: auditRoot}
	err := c.Row(ctx, `SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1`).Scan(&h.Seq, &h.Hash)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return h, err
}

// AppendAudit adds an entry with the time of the store's clock. detail is one JSON value, stored without white space; nil means null.
func (db *AuditLog) AppendAudit(ctx context.Context, actor, action string, detail json.RawMessage) (AuditEntry, error) {
	if detail == nil {
		detail = json.RawMessage("null")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, detail); err != nil {
		return AuditEntry{}, db.fail(fmt.Errorf("%w: the detail is not JSON: %w", concordat.ErrInvalid, err), "append audit entry %s", action)
	}
	e := AuditEntry{
		At:     instant(stamp(db.now())),
		Actor:  cleanText(actor),
		Action: cleanText(action),
		Detail: json.RawMessage(cleanText(compact.String())),
	}
	err := db.write(ctx, func(c engine.Conn) error {
		head, err := auditHead(ctx, c)
		if err != nil {
			return err
		}
		e.Seq, e.Prev = head.Seq+1, head.Hash
		if e.Hash, err = e.sum(); err != nil {
			return err
		}
		_, err = c.Exec(ctx, `INSERT INTO audit (`+auditColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			e.Seq, stamp(e.At), e.Actor, e.Action, string(e.Detail), e.Prev, e.Hash)
		return err
	})
	return e, db.fail(err, "append audit entry %s", action)
}

// Audit returns entries after the one with Seq after, oldest first, up to limit, or up to MaxPage if limit is 0 or exceeds it.
func (db *AuditLog) Audit(ctx context.Context, after int64, limit int) ([]AuditEntry, error) {
	es, err := engine.Collect(ctx, db.read(), scanAudit,
		`SELECT `+auditColumns+` FROM audit WHERE seq > ? ORDER BY seq LIMIT ?`, after, page(limit))
	return es, db.fail(err, "audit")
}

// VerifyAudit follows the chain from the first entry and returns its head. If the chain is broken or lacks one of the known heads, it
// fails with concordat.ErrCorrupt and names the entry. Callers store known heads elsewhere, since only these reveal that an audit log was
// truncated or entirely rewritten.
func (db *AuditLog) VerifyAudit(ctx context.Context, known ...AuditHead) (AuditHead, error) {
	return VerifyEntries(func(yield func(AuditEntry, error) bool) {
		for after := int64(0); ; {
			es, err := db.Audit(ctx, after, MaxPage)
			if err != nil {
				yield(AuditEntry{}, err)
				return
			}
			for _, e := range es {
				if !yield(e, nil) {
					return
				}
				// A number out of order ends the walk with an error; otherwise, the same entries would be requested again.
				after = e.Seq
			}
			if len(es) < MaxPage {
				return
			}
		}
	}, known...)
}

// VerifyEntries is VerifyAudit for entries from another source, for example a partner's export.
func VerifyEntries(entries iter.Seq2[AuditEntry, error], known ...AuditHead) (AuditHead, error) {
	want := make(map[int64]string, len(known))
	last := int64(0)
	for _, h := range known {
		if k, ok := want[h.Seq]; ok && k != h.Hash {
			return AuditHead{}, fmt.Errorf("verify audit log: %w: the hashes expected for entry %d differ", concordat.ErrCorrupt, h.Seq)
		}
		want[h.Seq] = h.Hash
		last = max(last, h.Seq)
	}
	head := AuditHead{Hash: auditRoot}
	for e, err := range entries {
		if err != nil {
			return AuditHead{}, err
		}
		if err := head.step(e, want); err != nil {
			return AuditHead{}, fmt.Errorf("verify audit log: entry %d: %w", e.Seq, err)
		}
	}
	if last > head.Seq {
		return AuditHead{}, fmt.Errorf("verify audit log: %w: the log should contain entry %d, but ends at entry %d", concordat.ErrCorrupt, last, head.Seq)
	}
	return head, nil
}

// AuditHead returns the end of the audit log; Seq 0 if it is empty.
func (db *AuditLog) AuditHead(ctx context.Context) (AuditHead, error) {
	h, err := auditHead(ctx, db.read())
	return h, db.fail(err, "read the end of the audit log")
}

// step advances h to the next entry e.
func (h *AuditHead) step(e AuditEntry, known map[int64]string) error {
	if e.Seq != h.Seq+1 {
		return fmt.Errorf("%w: the previous entry is number %d", concordat.ErrCorrupt, h.Seq)
	}
	if e.Prev != h.Hash {
		return fmt.Errorf("%w: the stored hash of the previous entry does not match that entry", concordat.ErrCorrupt)
	}
	sum, err := e.sum()
	if err != nil {
		return err
	}
	if sum != e.Hash {
		return fmt.Errorf("%w: the content of the entry does not match its hash", concordat.ErrCorrupt)
	}
	if k, ok := known[e.Seq]; ok && k != e.Hash {
		return fmt.Errorf("%w: the hash of the entry differs from the expected hash", concordat.ErrCorrupt)
	}
	*h = AuditHead{Seq: e.Seq, Hash: e.Hash}
	return nil
}

// AuditNote is the content of the audit entry for an upcoming change.
type AuditNote struct {
	Actor, Action string
	Detail        map[string]any
}

// Notes adds an entry for each note.
func (db *AuditLog) Notes(ctx context.Context, notes ...AuditNote) error {
	for _, n := range notes {
		if err := db.Note(ctx, n.Actor, n.Action, n.Detail); err != nil {
			return err
		}
	}
	return nil
}

// Note is AppendAudit with the members of detail as a JSON object, which is empty if detail is nil.
func (db *AuditLog) Note(ctx context.Context, actor, action string, detail map[string]any) error {
	if detail == nil {
		detail = map[string]any{}
	}
	b, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("append audit entry %s: %w: detail: %w", action, concordat.ErrInvalid, err)
	}
	_, err = db.AppendAudit(ctx, actor, action, b)
	return err
}
