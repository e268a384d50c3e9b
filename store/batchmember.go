package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"concordat"
	"concordat/store/engine"
)

// BatchMember is a document of a batch.
type BatchMember struct {
	Number   int    // from 0, in the order of reading
	Name     string // the member's document id, unique within the batch
	Title    string
	Author   string
	AuthorBy string // AuthorDeclared or AuthorMetadata; empty if unknown
	Group    string
	DraftOf  string // name of another member that is an earlier or later version
	Dated    concordat.Date
	DatedBy  concordat.DateOrigin
	Timed    concordat.Instant // more exact than Dated; empty if unknown
	Flags    []concordat.Flag
	Cause    Cause // why the member could not be read; zero if it was read
	// Characters is the number of normalised characters in its text.
	Characters int

	// PutCompared and PutChecked set the fields below.

	Compared   bool             // compared with the other members
	Round      int              // last round in which it was checked; 0 for none
	Task       concordat.TaskID // task with its findings; empty if there is none
	Incomplete bool             // a partner or shard did not answer
	Share      float64          // counting share of it, 0 to 1
	Largest    float64          // largest share from a single source
	Fresh      json.RawMessage  // sources that were new in the last round, in the caller's format
}

// Where the name of a member's author comes from.
const (
	AuthorDeclared = "declared" // submitter of the batch
	AuthorMetadata = "metadata" // unverified metadata of the file
)

const memberColumns = `number, name, title, author, author_by, grp, draft_of, dated, dated_by, flags, reason, characters, compared, round, task, incomplete, share, largest, fresh, timed`

func scanMember(s engine.Scanner) (BatchMember, error) {
	var m BatchMember
	var flags, fresh, cause string
	err := s.Scan(&m.Number, &m.Name, &m.Title, &m.Author, &m.AuthorBy, &m.Group, &m.DraftOf, &m.Dated, &m.DatedBy, &flags, &cause,
		&m.Characters,
		&m.Compared, &m.Round, &m.Task, &m.Incomplete, &m.Share, &m.Largest, &fresh, &m.Timed)
	if err == nil {
		err = json.Unmarshal([]byte(flags), &m.Flags)
	}
	if err == nil {
		m.Cause, err = causeOf(cause)
	}
	m.Fresh = json.RawMessage(fresh)
	return m, err
}

// PutBatchMembers adds the members from one file and marks the file as done, in one transaction; it has no effect for a file already
// done. The store assigns the numbers. If two members have the same name, it fails with concordat.ErrExists.
func (db *Batches) PutBatchMembers(ctx context.Context, id string, input int, members []BatchMember) error {
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE batch_input SET done = 1 WHERE batch = ? AND number = ? AND done = 0`, id, input)
		if err != nil || n == 0 {
			return err
		}
		var next int
		if err := c.Row(ctx, `SELECT COALESCE(MAX(number) + 1, 0) FROM batch_member WHERE batch = ?`, id).Scan(&next); err != nil {
			return err
		}
		for i, m := range members {
			if err := checkName("member", m.Name); err != nil {
				return err
			}
			flags, err := json.Marshal(m.Flags)
			if err != nil {
				return err
			}
			cause, err := m.Cause.column()
			if err != nil {
				return err
			}
			_, err = c.Exec(ctx, `INSERT INTO batch_member (batch, `+memberColumns+`)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, '', 0, 0.0, 0.0, 'null', ?)`,
				id, next+i, m.Name, cleanText(m.Title), cleanText(m.Author), m.AuthorBy, cleanText(m.Group), cleanText(m.DraftOf), m.Dated, m.DatedBy,
				cleanText(string(flags)), cause, m.Characters, m.Timed)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "add members to batch %s", id)
}

// BatchMembers returns the members of a batch ordered by name.
func (db *Batches) BatchMembers(ctx context.Context, id string) ([]BatchMember, error) {
	ms, err := engine.Collect(ctx, db.read(), scanMember, `SELECT `+memberColumns+` FROM batch_member WHERE batch = ? ORDER BY name`, id)
	return ms, db.fail(err, "list the members of batch %s", id)
}

// BatchOfTask returns the batch and the number of the member whose findings belong to the given task, or concordat.ErrNotFound.
func (db *Batches) BatchOfTask(ctx context.Context, task concordat.TaskID) (id string, member int, err error) {
	err = db.read().Row(ctx, `SELECT batch, number FROM batch_member WHERE task = ? AND task <> ''`, task).Scan(&id, &member)
	return id, member, db.fail(err, "find the batch of %s", task)
}

// EraseBatchMember deletes everything about a member except the fact that it existed: its names, the wording it shares with others, and
// its findings. If request is not nil, it replaces the batch's request, which can name the member. If there is no such member, it fails
// with concordat.ErrNotFound.
func (db *Batches) EraseBatchMember(ctx context.Context, id string, number int, request json.RawMessage) error {
	err := db.write(ctx, func(c engine.Conn) error {
		var name string
		if err := c.Row(ctx, `SELECT name FROM batch_member WHERE batch = ? AND number = ?`, id, number).Scan(&name); err != nil {
			return err
		}
		gone := fmt.Sprintf("deleted #%d", number+1)
		cause, err := Cause{Code: CauseDeleted}.column()
		if err != nil {
			return err
		}
		for _, x := range []struct {
			query string
			args  []any
		}{
			{`DELETE FROM batch_pair WHERE batch = ? AND (a = ? OR b = ?)`, []any{id, number, number}},
			{`DELETE FROM batch_lead WHERE batch = ? AND member = ?`, []any{id, number}},
			{`UPDATE batch_input SET name = ?, place = '' WHERE batch = ? AND name = ?`, []any{gone, id, name}},
			{`UPDATE batch_member SET draft_of = '' WHERE batch = ? AND draft_of = ?`, []any{id, name}},
			{`UPDATE batch_member SET name = ?, title = '', author = '', author_by = '', grp = '', draft_of = '', dated = '', dated_by = '', timed = '', flags = 'null', reason = ?,
				characters = 0, task = '', incomplete = 0, share = 0.0, largest = 0.0, fresh = 'null' WHERE batch = ? AND number = ?`, []any{gone, cause, id, number}},
		} {
			if _, err := c.Exec(ctx, x.query, x.args...); err != nil {
				return err
			}
		}
		if request == nil {
			return nil
		}
		_, err = c.Exec(ctx, `UPDATE batch SET request = ? WHERE id = ?`, jsonText(request), id)
		return err
	})
	return db.fail(err, "erase member %d of batch %s", number, id)
}

// BatchPair contains the passages shared by two members of a batch. A is the one whose name sorts first.
type BatchPair struct {
	A, B           int     // members' numbers
	ShareA, ShareB float64 // share of A found in B and of B in A, 0 to 1, as in the report of each
	// SectionsA and SectionsB are the sections of A and B with text found in the other, in text order.
	SectionsA, SectionsB []SectionShare
	Passages             []byte // in the caller's format; if empty, they share nothing, and lists omit the pair
	Verdict              string // VerdictCount or VerdictDiscount, overriding the rules; empty if the rules decide
}

// Share returns the larger of the two shares.
func (p BatchPair) Share() float64 { return max(p.ShareA, p.ShareB) }

// SectionShare is the share of a section of a document found in another document.
type SectionShare struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"` // 0 to 1, relative to what could count in the section
}

// PairShare is the share of a member found in another member, according to the first member's report.
type PairShare struct {
	Share    float64 // 0 to 1
	Sections []SectionShare
}

// Verdicts on a pair.
const (
	VerdictCount    = "count"
	VerdictDiscount = "discount"
)

// PutCompared records that a member was compared with others, and the new pairs, in one transaction. It does not change existing pairs.
func (db *Batches) PutCompared(ctx context.Context, id string, member int, pairs []BatchPair) error {
	err := db.write(ctx, func(c engine.Conn) error {
		for _, p := range pairs {
			packed, err := packPassages(p.Passages)
			if err != nil {
				return err
			}
			_, err = c.Exec(ctx, `INSERT INTO batch_pair (batch, a, b, share, share_a, share_b, passages, verdict) VALUES (?, ?, ?, 0.0, 0.0, 0.0, ?, '')
				ON CONFLICT (batch, a, b) DO NOTHING`, id, p.A, p.B, packed)
			if err != nil {
				return err
			}
		}
		n, err := c.Exec(ctx, `UPDATE batch_member SET compared = 1 WHERE batch = ? AND number = ?`, id, member)
		return oneOf(n, err)
	})
	return db.fail(err, "record the pairs of member %d of batch %s", member, id)
}

// Compared returns the numbers of the members paired with a member of a batch, ascending, including those that share nothing.
func (db *Batches) Compared(ctx context.Context, id string, member int) ([]int, error) {
	ns, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (n int, err error) { return n, s.Scan(&n) },
		`SELECT b AS n FROM batch_pair WHERE batch = ? AND a = ? UNION SELECT a AS n FROM batch_pair WHERE batch = ? AND b = ? ORDER BY n`, id,
		member, id, member)
	return ns, db.fail(err, "list members compared with member %d of batch %s", member, id)
}

// PairsOfMember returns the pairs of a member that share something, with their passages, ordered by A, then B.
func (db *Batches) PairsOfMember(ctx context.Context, id string, member int) ([]BatchPair, error) {
	ps, err := engine.Collect(ctx, db.read(), scanPairWhole,
		`SELECT a, b, share_a, share_b, sections_a, sections_b, verdict, passages FROM batch_pair WHERE batch = ? AND (a = ? OR b = ?) AND length(passages) > 0 ORDER BY a, b`, id, member, member)
	return ps, db.fail(err, "list the pairs of member %d of batch %s", member, id)
}

// scanPair reads the columns of a pair, and any further columns into more.
func scanPair(s engine.Scanner, more ...any) (p BatchPair, err error) {
	var a, b string
	if err := s.Scan(append([]any{&p.A, &p.B, &p.ShareA, &p.ShareB, &a, &b, &p.Verdict}, more...)...); err != nil {
		return p, err
	}
	err = errors.Join(json.Unmarshal([]byte(a), &p.SectionsA), json.Unmarshal([]byte(b), &p.SectionsB))
	if len(p.SectionsA) == 0 {
		p.SectionsA = nil
	}
	if len(p.SectionsB) == 0 {
		p.SectionsB = nil
	}
	return p, err
}

func scanPairWhole(s engine.Scanner) (BatchPair, error) {
	var packed []byte
	p, err := scanPair(s, &packed)
	if err == nil {
		p.Passages, err = unpackPassages(packed)
	}
	return p, err
}

// BatchPair returns one pair with its passages, or concordat.ErrNotFound.
func (db *Batches) BatchPair(ctx context.Context, id string, a, b int) (BatchPair, error) {
	p, err := scanPairWhole(db.read().Row(ctx,
		`SELECT a, b, share_a, share_b, sections_a, sections_b, verdict, passages FROM batch_pair WHERE batch = ? AND a = ? AND b = ?`, id, a, b))
	return p, db.fail(err, "get the pair of members %d and %d of batch %s", a, b, id)
}

// PairCursor marks the last pair of a page. The zero value starts at the largest share.
type PairCursor struct {
	Share float64
	A, B  int
}

// BatchPairs returns the pairs that share something, if the share of a document or section is at least least. They are ordered by the
// larger share of a document, largest first, then by A and B, and start after the cursor (nil for the first). It returns at most limit
// pairs, or MaxPage if limit is 0 or exceeds it, without passages.
func (db *Batches) BatchPairs(ctx context.Context, id string, least float64, after *PairCursor, limit int) ([]BatchPair, error) {
	where, args := `batch = ? AND (share >= ? OR section >= ?) AND length(passages) > 0`, []any{id, least, least}
	if after != nil {
		where += ` AND (share < ? OR share = ? AND (a > ? OR a = ? AND b > ?))`
		args = append(args, after.Share, after.Share, after.A, after.A, after.B)
	}
	ps, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (BatchPair, error) { return scanPair(s) },
		`SELECT a, b, share_a, share_b, sections_a, sections_b, verdict FROM batch_pair WHERE `+where+` ORDER BY share DESC, a, b LIMIT ?`,
		append(args, page(limit))...)
	return ps, db.fail(err, "list the pairs of batch %s", id)
}

// SetPairVerdict sets the verdict on a pair; if it is empty, the rules decide again. If there is no such pair, it fails with
// concordat.ErrNotFound.
func (db *Batches) SetPairVerdict(ctx context.Context, id string, a, b int, verdict string) error {
	var err error
	switch verdict {
	case "", VerdictCount, VerdictDiscount:
		err = db.write(ctx, func(c engine.Conn) error {
			n, err := c.Exec(ctx, `UPDATE batch_pair SET verdict = ? WHERE batch = ? AND a = ? AND b = ?`, verdict, id, a, b)
			return oneOf(n, err)
		})
	default:
		err = fmt.Errorf("%w: unknown verdict %q", concordat.ErrInvalid, verdict)
	}
	return db.fail(err, "set the verdict on members %d and %d of batch %s", a, b, id)
}

// PutChecked records the result of checking a member; it reads Number, Round, Task, Incomplete, Share, Largest and Fresh of m. shares
// maps the numbers of other members to the share of this member found in them. Everything is stored in one transaction.
func (db *Batches) PutChecked(ctx context.Context, id string, m BatchMember, shares map[int]PairShare) error {
	fresh := jsonText(m.Fresh)
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx,
			`UPDATE batch_member SET round = ?, task = ?, incomplete = ?, share = ?, largest = ?, fresh = ? WHERE batch = ? AND number = ?`,
			m.Round, m.Task, m.Incomplete, m.Share, m.Largest, fresh, id, m.Number)
		if err = oneOf(n, err); err != nil {
			return err
		}
		for other, share := range shares {
			if err := putPairShare(ctx, c, id, m.Number, other, share); err != nil {
				return err
			}
		}
		_, err = c.Exec(ctx,
			`UPDATE batch_pair SET share = CASE WHEN share_a > share_b THEN share_a ELSE share_b END WHERE batch = ? AND (a = ? OR b = ?)`, id,
			m.Number, m.Number)
		return err
	})
	return db.fail(err, "record the check of member %d of batch %s", m.Number, id)
}

// putPairShare records the share of a member found in another one.
func putPairShare(ctx context.Context, c engine.Conn, id string, member, other int, share PairShare) error {
	sections, err := json.Marshal(append([]SectionShare{}, share.Sections...))
	if err != nil {
		return err
	}
	own, theirs := "a", "b"
	a, b := member, other
	for range 2 { // A and B depend on the names, so try both orders
		n, err := c.Exec(ctx, `UPDATE batch_pair SET share_`+own+` = ?, sections_`+own+` = ? WHERE batch = ? AND a = ? AND b = ?`, share.Share,
			string(sections), id, a, b)
		if err != nil {
			return err
		}
		if n > 0 {
			return putLargestSection(ctx, c, id, a, b, share.Sections, theirs)
		}
		own, theirs, a, b = theirs, own, b, a
	}
	return nil
}

// putLargestSection records the largest section share of a pair, among the given shares and the stored ones of the other document.
func putLargestSection(ctx context.Context, c engine.Conn, id string, a, b int, sections []SectionShare, theirs string) error {
	var kept string
	if err := c.Row(ctx, `SELECT sections_`+theirs+` FROM batch_pair WHERE batch = ? AND a = ? AND b = ?`, id, a, b).Scan(&kept); err != nil {
		return err
	}
	var others []SectionShare
	if err := json.Unmarshal([]byte(kept), &others); err != nil {
		return err
	}
	largest := 0.0
	for _, s := range slices.Concat(sections, others) {
		largest = max(largest, s.Share)
	}
	_, err := c.Exec(ctx, `UPDATE batch_pair SET section = ? WHERE batch = ? AND a = ? AND b = ?`, largest, id, a, b)
	return err
}

// PutBatchWording stores the wording shared by several documents of a batch, in the caller's format, replacing the previous value. If
// there is no such batch, it fails with concordat.ErrNotFound.
func (db *Batches) PutBatchWording(ctx context.Context, id string, data []byte) error {
	packed, err := packPassages(data)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			var found string
			if err := c.Row(ctx, `SELECT id FROM batch WHERE id = ?`, id).Scan(&found); err != nil {
				return err
			}
			_, err := c.Exec(ctx, `INSERT INTO batch_wording (batch, data) VALUES (?, ?) ON CONFLICT (batch) DO UPDATE SET data = excluded.data`,
				id, packed)
			return err
		})
	}
	return db.fail(err, "store the shared wording of batch %s", id)
}

// BatchWording returns the wording stored by PutBatchWording, or nil if there is none.
func (db *Batches) BatchWording(ctx context.Context, id string) ([]byte, error) {
	all, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (packed []byte, err error) { return packed, s.Scan(&packed) },
		`SELECT data FROM batch_wording WHERE batch = ?`, id)
	var data []byte
	if err == nil && len(all) > 0 {
		data, err = unpackPassages(all[0])
	}
	return data, db.fail(err, "get the shared wording of batch %s", id)
}

// BatchLeads contains the leads from a document of a batch to others in it, in the caller's format.
type BatchLeads struct {
	Member   int    // number of the document
	Found    []byte // leads found by comparing the document
	Reported []byte // leads in its report; empty if it has no report yet
}

// PutBatchLeads stores the leads found by comparing a member of a batch, replacing any earlier ones. If there is no such member, it fails
// with concordat.ErrNotFound.
func (db *Batches) PutBatchLeads(ctx context.Context, id string, member int, found []byte) error {
	packed, err := packPassages(found)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			var number int
			if err := c.Row(ctx, `SELECT number FROM batch_member WHERE batch = ? AND number = ?`, id, member).Scan(&number); err != nil {
				return err
			}
			_, err := c.Exec(ctx, `INSERT INTO batch_lead (batch, member, found, told) VALUES (?, ?, ?, ?)
				ON CONFLICT (batch, member) DO UPDATE SET found = excluded.found, told = excluded.told`, id, member, packed, []byte{})
			return err
		})
	}
	return db.fail(err, "store the leads of member %d of batch %s", member, id)
}

// PutReportedLeads stores the leads listed in a member's report. If PutBatchLeads stored none, it fails with concordat.ErrNotFound.
func (db *Batches) PutReportedLeads(ctx context.Context, id string, member int, reported []byte) error {
	packed, err := packPassages(reported)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			n, err := c.Exec(ctx, `UPDATE batch_lead SET told = ? WHERE batch = ? AND member = ?`, packed, id, member)
			return oneOf(n, err)
		})
	}
	return db.fail(err, "update the leads of member %d of batch %s", member, id)
}

// BatchLeads returns the leads of a batch's members, by number. It omits members that were not compared.
func (db *Batches) BatchLeads(ctx context.Context, id string) ([]BatchLeads, error) {
	all, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (l BatchLeads, err error) {
		var found, reported []byte
		if err = s.Scan(&l.Member, &found, &reported); err == nil {
			l.Found, err = unpackPassages(found)
		}
		if err == nil {
			l.Reported, err = unpackPassages(reported)
		}
		return l, err
	}, `SELECT member, found, told FROM batch_lead WHERE batch = ? ORDER BY member`, id)
	return all, db.fail(err, "list the leads of batch %s", id)
}
