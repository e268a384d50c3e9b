package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Ask is one question to a partner, with the data needed to interpret its later answers.
type Ask struct {
	Job      concordat.JobID
	Task     concordat.TaskID
	Site     concordat.SiteID // site asked
	Epoch    concordat.Epoch
	Made     time.Time
	Standing bool             // the partner stores it
	Salt     []byte           // salt of the commitment to the submission
	Spans    []concordat.Span // spans of the sentences in the submission, in the order in which they were asked
}

const askColumns = `job, task, site, federation, epoch, made, standing, salt, spans`

func scanAsk(s engine.Scanner) (Ask, error) {
	var a Ask
	var job, spans []byte
	var made int64
	if err := s.Scan(&job, &a.Task, &a.Site, &a.Epoch.Federation, &a.Epoch.Number, &made, &a.Standing, &a.Salt, &spans); err != nil {
		return a, err
	}
	a.Made = instant(made)
	var err error
	if a.Spans, err = unpackSpans(spans); err != nil || len(job) != len(a.Job) {
		return a, fmt.Errorf("%w: cannot decode a stored question", concordat.ErrCorrupt)
	}
	copy(a.Job[:], job)
	return a, nil
}

// PutAsk stores a question before it is sent. If there is no such task, it fails with concordat.ErrNotFound.
func (db *Asks) PutAsk(ctx context.Context, a Ask) error {
	err := db.write(ctx, func(c engine.Conn) error {
		salt := a.Salt
		if salt == nil {
			salt = []byte{}
		}
		_, err := c.Exec(ctx, `INSERT INTO ask (`+askColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			a.Job[:], a.Task, a.Site, a.Epoch.Federation, a.Epoch.Number, stamp(a.Made), a.Standing, salt, packSpans(a.Spans))
		return err
	})
	return db.fail(err, "store a question of task %s", a.Task)
}

// StandingAsks returns the questions stored by partners, oldest first.
func (db *Asks) StandingAsks(ctx context.Context) ([]Ask, error) {
	all, err := engine.Collect(ctx, db.read(), scanAsk, `SELECT `+askColumns+` FROM ask WHERE standing = 1 ORDER BY made, job`)
	return all, db.fail(err, "list standing questions")
}

// SetAskStanding records whether the partner stores the question, or fails with concordat.ErrNotFound.
func (db *Asks) SetAskStanding(ctx context.Context, job concordat.JobID, standing bool) error {
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE ask SET standing = ? WHERE job = ?`, standing, job[:])
		return oneOf(n, err)
	})
	return db.fail(err, "record whether the partner stores question %x", job)
}

// Ask returns a question, or concordat.ErrNotFound.
func (db *Asks) Ask(ctx context.Context, job concordat.JobID) (Ask, error) {
	a, err := scanAsk(db.read().Row(ctx, `SELECT `+askColumns+` FROM ask WHERE job = ?`, job[:]))
	return a, db.fail(err, "get question %x", job)
}

// Asks returns the questions of a task, ordered by partner and job.
func (db *Asks) Asks(ctx context.Context, task concordat.TaskID) ([]Ask, error) {
	as, err := engine.Collect(ctx, db.read(), scanAsk, `SELECT `+askColumns+` FROM ask WHERE task = ? ORDER BY site, job`, task)
	return as, db.fail(err, "list the questions of task %s", task)
}

// Digest identifies a sentence without revealing it.
type Digest [16]byte

// Expose records that sentences are sent to a partner in some form, for example as fingerprints for an epoch. It returns, for each
// sentence, whether it must not be sent because the partner already has it in another form. It records this permanently, before anything
// is sent.
func (db *Asks) Expose(ctx context.Context, site concordat.SiteID, form string, digests []Digest) (withheld []bool, err error) {
	withheld = make([]bool, len(digests))
	if err := checkName("site", site); err != nil {
		return nil, db.fail(err, "expose")
	}
	if err := checkName("form", form); err != nil {
		return nil, db.fail(err, "record sentences sent to %s", site)
	}
	err = db.write(ctx, func(c engine.Conn) error {
		known := make(map[Digest]string, len(digests))
		for some := range slices.Chunk(digests, exposeRows) {
			if err := exposed(ctx, c, site, some, known); err != nil {
				return err
			}
		}
		var fresh []Digest
		for i, d := range digests {
			was, ok := known[d]
			if withheld[i] = ok && was != form; !ok {
				known[d] = form
				fresh = append(fresh, d)
			}
		}
		for some := range slices.Chunk(fresh, exposeRows) {
			args := make([]any, 0, 4*len(some))
			for _, d := range some {
				args = append(args, site, d[:], form, stamp(db.now()))
			}
			_, err := c.Exec(ctx, `INSERT INTO exposure (site, digest, form, at) VALUES (?, ?, ?, ?)`+strings.Repeat(`, (?, ?, ?, ?)`,
				len(some)-1), args...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, db.fail(err, "record sentences sent to %s", site)
	}
	return withheld, nil
}

// exposeRows is the number of sentences in one statement of Expose.
const exposeRows = 200

// exposed adds the forms in which sentences were sent to a partner.
func exposed(ctx context.Context, c engine.Conn, site concordat.SiteID, digests []Digest, known map[Digest]string) error {
	type row struct {
		digest []byte
		form   string
	}
	args := []any{site}
	for _, d := range digests {
		args = append(args, d[:])
	}
	rows, err := engine.Collect(ctx, c, func(s engine.Scanner) (r row, err error) { return r, s.Scan(&r.digest, &r.form) },
		`SELECT digest, form FROM exposure WHERE site = ? AND digest IN (?`+strings.Repeat(`, ?`, len(digests)-1)+`)`, args...)
	for _, r := range rows {
		if len(r.digest) != len(Digest{}) {
			return fmt.Errorf("%w: a digest has the wrong length, %d bytes", concordat.ErrCorrupt, len(r.digest))
		}
		known[Digest(r.digest)] = r.form
	}
	return err
}

// Exposures returns the number of sentences sent to each partner in any form.
func (db *Asks) Exposures(ctx context.Context) (map[concordat.SiteID]int, error) {
	type row struct {
		site concordat.SiteID
		n    int
	}
	rows, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (r row, err error) { return r, s.Scan(&r.site, &r.n) },
		`SELECT site, count(*) FROM exposure GROUP BY site`)
	if err != nil {
		return nil, db.fail(err, "exposures")
	}
	out := make(map[concordat.SiteID]int, len(rows))
	for _, r := range rows {
		out[r.site] = r.n
	}
	return out, nil
}

// packSpans encodes the start and the length of each span as variable-length integers. unpackSpans is its inverse.
func packSpans(spans []concordat.Span) []byte {
	b := make([]byte, 0, 4*len(spans))
	for _, s := range spans {
		b = binary.AppendUvarint(b, uint64(s.Start))
		b = binary.AppendUvarint(b, uint64(s.Len()))
	}
	return b
}

// maxOffset is the maximum offset in a span, in bytes of a text.
const maxOffset = 1 << 40

func unpackSpans(b []byte) ([]concordat.Span, error) {
	var out []concordat.Span
	for len(b) > 0 {
		start, n := binary.Uvarint(b)
		if n <= 0 || start > maxOffset {
			return nil, concordat.ErrCorrupt
		}
		length, m := binary.Uvarint(b[n:])
		if m <= 0 || length > maxOffset {
			return nil, concordat.ErrCorrupt
		}
		b = b[n+m:]
		out = append(out, concordat.Span{Start: int(start), End: int(start + length)})
	}
	return out, nil
}
