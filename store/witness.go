package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Witness is the head of a partner's audit log as signed and sent by the partner.
type Witness struct {
	Site  concordat.SiteID
	Seq   uint64
	Hash  [32]byte
	At    time.Time // time stated by the partner
	Heard time.Time // set by the store
	Head  []byte    // exactly as signed
	Fork  bool      // set by the store if it contradicts another head
}

func scanWitness(s engine.Scanner) (Witness, error) {
	var w Witness
	var hash string
	var at, heard int64
	if err := s.Scan(&w.Site, &w.Seq, &hash, &at, &heard, &w.Head, &w.Fork); err != nil {
		return w, err
	}
	b, err := hex.DecodeString(hash)
	if err != nil || len(b) != len(w.Hash) {
		return w, fmt.Errorf("%w: the hash %q is not valid", concordat.ErrCorrupt, hash)
	}
	copy(w.Hash[:], b)
	w.At, w.Heard = instant(at), instant(heard)
	return w, nil
}

const witnessColumns = `site, seq, hash, at, heard, head, fork`

// witnessSkew is how far the times of two heads can contradict their numbers, because heads are signed in parallel, and clocks are
// adjusted.
const witnessSkew = 2 * time.Minute

// AddWitness stores the head of a partner's audit log, whatever its content. The caller must have checked its signature. AddWitness
// returns a head stored earlier that cannot belong to the same audit log, because it has the same number and a different hash, or a lower
// number and a later time, or the reverse. It returns nil if there is none.
//
// It keeps the first and the newest of each hour among the consistent heads, and the first maxForks of the contradictory ones, so that a
// partner cannot fill the store by contradicting itself.
func (db *Partners) AddWitness(ctx context.Context, w Witness) (*Witness, error) {
	var fork *Witness
	err := checkName("site", w.Site)
	if err == nil && w.Seq > math.MaxInt64 {
		err = fmt.Errorf("%w: the entry number %d is out of range", concordat.ErrInvalid, w.Seq)
	}
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) (err error) {
			fork, err = addWitness(ctx, c, w, db.now())
			return err
		})
	}
	return fork, db.fail(err, "record an audit head of %s", w.Site)
}

// maxForks is the number of contradictory heads stored for a partner's audit log; two are proof.
const maxForks = 100

func addWitness(ctx context.Context, c engine.Conn, w Witness, now time.Time) (*Witness, error) {
	fork, err := contradicts(ctx, c, w)
	if err != nil {
		return nil, err
	}
	if fork != nil {
		if _, err := c.Exec(ctx, `UPDATE witness SET fork = 1 WHERE site = ? AND seq = ? AND hash = ?`, w.Site, int64(fork.Seq),
			hex.EncodeToString(fork.Hash[:])); err != nil {
			return nil, err
		}
	}
	hour := stamp(w.At.Truncate(time.Hour))
	if _, err := c.Exec(ctx, `DELETE FROM witness WHERE site = ? AND fork = 0 AND seq < ? AND at <= ?
		AND at > (SELECT min(at) FROM witness WHERE site = ? AND at >= ?)`, w.Site, int64(w.Seq), stamp(w.At), w.Site, hour); err != nil {
		return nil, err
	}
	if fork != nil {
		var forks int
		if err := c.Row(ctx, `SELECT count(*) FROM witness WHERE site = ? AND fork = 1`, w.Site).Scan(&forks); err != nil || forks >= maxForks {
			return fork, err
		}
	}
	_, err = c.Exec(ctx, `INSERT INTO witness (`+witnessColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		w.Site, int64(w.Seq), hex.EncodeToString(w.Hash[:]), stamp(w.At), stamp(now), w.Head, fork != nil)
	return fork, err
}

// contradicts returns a stored head that w contradicts, or nil. It suffices to compare w with the next lower and the next higher number,
// because stored heads either agree with each other or are marked.
func contradicts(ctx context.Context, c engine.Conn, w Witness) (*Witness, error) {
	near, err := engine.Collect(ctx, c, scanWitness, `SELECT `+witnessColumns+` FROM witness WHERE site = ? AND seq = ?
		UNION ALL SELECT * FROM (SELECT `+witnessColumns+` FROM witness WHERE site = ? AND seq < ? ORDER BY seq DESC LIMIT 1) AS lower
		UNION ALL SELECT * FROM (SELECT `+witnessColumns+` FROM witness WHERE site = ? AND seq > ? ORDER BY seq LIMIT 1) AS higher`,
		w.Site, int64(w.Seq), w.Site, int64(w.Seq), w.Site, int64(w.Seq))
	if err != nil {
		return nil, err
	}
	for i, k := range near {
		switch {
		case k.Seq == w.Seq && k.Hash != w.Hash,
			k.Seq < w.Seq && k.At.After(w.At.Add(witnessSkew)),
			k.Seq > w.Seq && w.At.After(k.At.Add(witnessSkew)):
			return &near[i], nil
		}
	}
	return nil, nil
}

// Witnesses returns the stored heads of a partner's audit log, ordered by number.
func (db *Partners) Witnesses(ctx context.Context, site concordat.SiteID) ([]Witness, error) {
	ws, err := engine.Collect(ctx, db.read(), scanWitness, `SELECT `+witnessColumns+` FROM witness WHERE site = ? ORDER BY seq, heard`, site)
	return ws, db.fail(err, "witnesses of %s", site)
}

// LatestWitnesses returns up to limit stored heads of a partner's audit log that another partner might want to compare: contradictory
// heads first, then the newest.
func (db *Partners) LatestWitnesses(ctx context.Context, site concordat.SiteID, limit int) ([]Witness, error) {
	ws, err := engine.Collect(ctx, db.read(), scanWitness, `SELECT `+witnessColumns+` FROM witness WHERE site = ?
		ORDER BY fork DESC, seq DESC, heard LIMIT ?`, site, limit)
	return ws, db.fail(err, "witnesses of %s", site)
}

// Kinds of a PartnerAlarm.
const (
	AlarmProbing          = "probing"           // it asks about suspiciously many variants of a sentence
	AlarmAuditStopped     = "audit_stopped"     // its audit log does not continue the known one, or no longer arrives
	AlarmAuditContradicts = "audit_contradicts" // its audit log was rewritten
	AlarmFalse            = "false_answer"      // it gave an impossible answer, or answered a different question
	AlarmFlooding         = "flooding"          // it sends more than is allowed
	AlarmOneDocument      = "one_document"      // its jobs keep leading to one document
	AlarmEpoch            = "epoch_refused"     // it leads a federation and began an epoch too early, or too many at once
	AlarmLibrary          = "library"           // it has been sent much of a library
)

// alarmAgain returns how much time must pass before the same alarm is raised again. Disclosures count for a year, so the cause of an
// AlarmLibrary lasts for months.
func alarmAgain(kind string) time.Duration {
	if kind == AlarmLibrary {
		return 30 * 24 * time.Hour
	}
	return 24 * time.Hour
}

// PartnerAlarm reports an act of a partner that an administrator should look into.
type PartnerAlarm struct {
	Partner concordat.SiteID
	Kind    string
	Library concordat.LibraryID // library of this site; empty if none
	At      time.Time           // set by the store
}

// RaiseAlarm stores an alarm and announces it to webhooks, and reports whether it did. It does neither if the same alarm was raised
// within the last day, or, for kind AlarmLibrary, within thirty days. Alarms older than a year are deleted.
func (db *Partners) RaiseAlarm(ctx context.Context, a PartnerAlarm) (raised bool, err error) {
	now := db.now()
	err = db.write(ctx, func(c engine.Conn) error {
		raised = false
		var last int
		if err := c.Row(ctx, `SELECT count(*) FROM partner_alarm WHERE partner = ? AND kind = ? AND library = ? AND at > ?`, a.Partner, a.Kind,
			a.Library, stamp(now.Add(-alarmAgain(a.Kind)))).Scan(&last); err != nil || last > 0 {
			return err
		}
		if _, err := c.Exec(ctx, `DELETE FROM partner_alarm WHERE at < ?`, stamp(now.AddDate(-1, 0, 0))); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `INSERT INTO partner_alarm (partner, kind, library, at) VALUES (?, ?, ?, ?)`, a.Partner, a.Kind, a.Library,
			stamp(now)); err != nil {
			return err
		}
		raised = true
		return db.announce(ctx, c, EventPartnerAlarm, "", alarmEvent{a.Partner, a.Kind, a.Library})
	})
	return raised && err == nil, db.fail(err, "raise an alarm about %s", a.Partner)
}

// PartnerAlarms returns up to limit alarms about a partner, latest first.
func (db *Partners) PartnerAlarms(ctx context.Context, partner concordat.SiteID, limit int) ([]PartnerAlarm, error) {
	as, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (PartnerAlarm, error) {
		a := PartnerAlarm{Partner: partner}
		var at int64
		err := s.Scan(&a.Kind, &a.Library, &at)
		a.At = instant(at)
		return a, err
	}, `SELECT kind, library, at FROM partner_alarm WHERE partner = ? ORDER BY seq DESC LIMIT ?`, partner, page(limit))
	return as, db.fail(err, "alarms about %s", partner)
}
