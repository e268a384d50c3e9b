package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Harvest contains the harvested sources, their records, and the works to which documents belong.
type Harvest struct{ base }

// HarvestSource is a repository or folder that is harvested regularly.
type HarvestSource struct {
	ID        string
	Kind      string // oai, resourcesync or folder
	URL       string
	Library   concordat.LibraryID
	Set       string        // set of the repository to harvest; empty for all
	Format    string        // metadata format; empty for the best available
	Every     time.Duration // 0 for only on request
	Withdrawn string        // HarvestDelete or HarvestKeep
	Next      time.Time     // when it is due; zero if not scheduled
	State     HarvestState
	Running   bool // claimed by a worker; read only
	Made      time.Time
}

// What happens to documents whose record was withdrawn by the source.
const (
	HarvestDelete = "delete"
	HarvestKeep   = "keep"
)

// HarvestState is the progress of harvesting a source.
type HarvestState struct {
	Run        int64     `json:"run"`              // number of the current or last run
	Phase      string    `json:"phase,omitempty"`  // listing or fetching; empty if no run is in progress
	Started    time.Time `json:"started,omitzero"` // start of the run
	Ended      time.Time `json:"ended,omitzero"`
	Cause      string    `json:"cause,omitempty"` // why the run could not continue
	Repository string    `json:"repository,omitempty"`
	Format     string    `json:"format,omitempty"` // format requested by the run
	Day        bool      `json:"day,omitempty"`    // the repository's dates are whole days
	Whole      bool      `json:"whole,omitempty"`  // the run lists everything, so records it does not see are gone
	NoDeleted  bool      `json:"no_deleted,omitempty"`
	LastWhole  time.Time `json:"last_whole,omitzero"`
	From       string    `json:"from,omitempty"`  // start date of this run's list
	Until      string    `json:"until,omitempty"` // start date of the next run
	Token      string    `json:"token,omitempty"` // where the list resumes
	Restarts   int       `json:"restarts,omitempty"`
	Listed     int       `json:"listed"`             // records read by the run
	Skipped    int       `json:"skipped,omitempty"`  // unread entries of a folder: hidden files, links and the like
	Unlisted   int       `json:"unlisted,omitempty"` // records no longer listed that remain until a whole run is requested
	Size       int       `json:"size"`               // size of the list as stated by the repository; 0 if unknown
	Ask        string    `json:"ask,omitempty"`      // request for the next run: whole, or empty
	Asked      string    `json:"asked,omitempty"`    // request for this run
	Base       string    `json:"base,omitempty"`     // address of the interface, if it was found below the source's address
}

// HarvestRecord is a record of a source.
type HarvestRecord struct {
	ID        string
	Stamp     string
	Digest    string
	State     HarvestRecordState
	Documents []concordat.DocumentID
	Files     []HarvestFile
	Work      concordat.Work
	Detail    string
	Tries     int
	Due       time.Time // when a failed or embargoed record is due; for a withdrawn record, when its absence ends
	Run       int64
	Changed   time.Time
}

// HarvestFile locates a text of a record.
type HarvestFile struct {
	URL  string `json:"url"`
	Type string `json:"type,omitempty"` // media type stated by the source
	Name string `json:"name,omitempty"`
	Page bool   `json:"page,omitempty"` // a page that leads to the text
	Meta bool   `json:"meta,omitempty"` // metadata of the work, not a text
	Text []byte `json:"text,omitempty"` // the text itself, if the record includes it
}

// HarvestRecordState is the state of a record.
type HarvestRecordState string

// The states of a record.
const (
	RecordWaiting     HarvestRecordState = "waiting"     // its text is not yet fetched
	RecordKept        HarvestRecordState = "kept"        // its documents are in the library
	RecordEmbargoed   HarvestRecordState = "embargoed"   // its text is under embargo until Due
	RecordClosed      HarvestRecordState = "closed"      // the source does not provide its text
	RecordTextless    HarvestRecordState = "textless"    // no text was found
	RecordFailed      HarvestRecordState = "failed"      // failed; fetched again at Due, if set
	RecordWithdrawing HarvestRecordState = "withdrawing" // its documents must leave the library
	RecordWithdrawn   HarvestRecordState = "withdrawn"
)

// HarvestRecordStates lists all states, the most interesting first.
var HarvestRecordStates = []HarvestRecordState{RecordKept, RecordWaiting, RecordEmbargoed, RecordClosed, RecordTextless, RecordFailed,
	RecordWithdrawing, RecordWithdrawn}

const harvestSourceColumns = `id, kind, url, library, subset, format, every, withdrawn, next, state, lease, made`

func (db *Harvest) scanSource(s engine.Scanner) (HarvestSource, error) {
	var h HarvestSource
	var every, next, lease, made int64
	var state string
	err := s.Scan(&h.ID, &h.Kind, &h.URL, &h.Library, &h.Set, &h.Format, &every, &h.Withdrawn, &next, &state, &lease, &made)
	if err == nil {
		err = json.Unmarshal([]byte(state), &h.State)
	}
	h.Every, h.Next, h.Made = time.Duration(every)*time.Microsecond, instant(next), instant(made)
	h.Running = instant(lease).After(db.now())
	return h, err
}

// AddSource stores a new source. If a source with its id exists, it fails with concordat.ErrExists.
func (db *Harvest) AddSource(ctx context.Context, h HarvestSource) error {
	err := checkName("source", h.ID)
	state, failed := json.Marshal(h.State)
	if err = errors.Join(err, failed); err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			_, err := c.Exec(ctx,
				`INSERT INTO harvest_source (`+harvestSourceColumns+`, worker) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, '')`,
				h.ID, h.Kind, cleanText(h.URL), h.Library, cleanText(h.Set), cleanText(h.Format), h.Every.Microseconds(), h.Withdrawn,
				stamp(h.Next),
				jsonText(state), stamp(h.Made))
			return err
		})
	}
	return db.fail(err, "add source %s", h.ID)
}

// Source returns a source, or concordat.ErrNotFound.
func (db *Harvest) Source(ctx context.Context, id string) (HarvestSource, error) {
	h, err := db.scanSource(db.read().Row(ctx, `SELECT `+harvestSourceColumns+` FROM harvest_source WHERE id = ?`, id))
	return h, db.fail(err, "source %s", id)
}

// Sources returns all sources ordered by id.
func (db *Harvest) Sources(ctx context.Context) ([]HarvestSource, error) {
	out, err := engine.Collect(ctx, db.read(), db.scanSource, `SELECT `+harvestSourceColumns+` FROM harvest_source ORDER BY id LIMIT ?`,
		MaxPage)
	return out, db.fail(err, "list sources")
}

// PlanSource sets when a source is due, and the request: whole, or empty for new records. It does not affect a run in progress.
func (db *Harvest) PlanSource(ctx context.Context, id string, next time.Time, ask string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		h, err := db.scanSource(c.Row(ctx, `SELECT `+harvestSourceColumns+` FROM harvest_source WHERE id = ?`, id))
		if err != nil {
			return err
		}
		h.State.Ask = ask
		state, err := json.Marshal(h.State)
		if err != nil {
			return err
		}
		n, err := c.Exec(ctx, `UPDATE harvest_source SET next = ?, state = ? WHERE id = ?`, stamp(next), jsonText(state), id)
		return oneOf(n, err)
	})
	return db.fail(err, "schedule source %s", id)
}

// RemoveSource deletes a source and its records. The documents remain in the library.
func (db *Harvest) RemoveSource(ctx context.Context, id string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `DELETE FROM harvest_source WHERE id = ?`, id)
		return oneOf(n, err)
	})
	return db.fail(err, "remove source %s", id)
}

// ClaimSource lets a worker run a source for some time. While another worker is running the source, it fails with ErrLease.
func (db *Harvest) ClaimSource(ctx context.Context, id, worker string, d time.Duration) error {
	now := db.now()
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE harvest_source SET worker = ?, lease = ? WHERE id = ? AND (worker = ? OR lease <= ?)`,
			worker, stamp(now.Add(d)), id, worker, stamp(now))
		if err == nil && n == 0 {
			err = ErrLease
		}
		return err
	})
	return db.fail(err, "claim source %s", id)
}

// ReleaseSource ends a worker's claim and sets when the source is next due.
func (db *Harvest) ReleaseSource(ctx context.Context, id, worker string, s HarvestState, next time.Time) error {
	err := db.write(ctx, func(c engine.Conn) error {
		if err := keepHarvestState(ctx, c, id, worker, s); err != nil {
			return err
		}
		_, err := c.Exec(ctx, `UPDATE harvest_source SET worker = '', lease = 0, next = ? WHERE id = ?`, stamp(next), id)
		return err
	})
	return db.fail(err, "release source %s", id)
}

// keepHarvestState stores the worker's progress with a source, or fails with ErrLease if the worker's claim has ended.
func keepHarvestState(ctx context.Context, c engine.Conn, id, worker string, s HarvestState) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	n, err := c.Exec(ctx, `UPDATE harvest_source SET state = ? WHERE id = ? AND worker = ?`, jsonText(b), id, worker)
	if err == nil && n == 0 {
		err = ErrLease
	}
	return err
}

// KeepHarvest stores in one transaction a worker's progress, and the records that the worker has read or handled since the last call.
func (db *Harvest) KeepHarvest(ctx context.Context, id, worker string, s HarvestState, records ...HarvestRecord) error {
	err := db.write(ctx, func(c engine.Conn) error {
		if err := keepHarvestState(ctx, c, id, worker, s); err != nil || len(records) == 0 {
			return err
		}
		put, err := c.Prepare(ctx,
			`INSERT INTO harvest_record (source, `+harvestRecordColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (source, id) DO UPDATE SET stamp = excluded.stamp, digest = excluded.digest, state = excluded.state,
			documents = excluded.documents, files = excluded.files, work = excluded.work, detail = excluded.detail, tries = excluded.tries,
			due = excluded.due, run = excluded.run, changed = excluded.changed`)
		if err != nil {
			return err
		}
		defer put.Close()
		for _, r := range records {
			if err := checkName("record", r.ID); err != nil {
				return err
			}
			documents, err1 := json.Marshal(r.Documents)
			files, err2 := json.Marshal(r.Files)
			work, err3 := json.Marshal(r.Work)
			if err := errors.Join(err1, err2, err3); err != nil {
				return err
			}
			if _, err := put.ExecContext(ctx, id, r.ID, cleanText(r.Stamp), r.Digest, r.State, cleanText(string(documents)),
				cleanText(string(files)),
				cleanText(string(work)), cleanText(r.Detail), r.Tries, stamp(r.Due), r.Run, stamp(r.Changed)); err != nil {
				return fmt.Errorf("record %s: %w", r.ID, err)
			}
		}
		return nil
	})
	return db.fail(err, "store %d records of source %s", len(records), id)
}

const harvestRecordColumns = `id, stamp, digest, state, documents, files, work, detail, tries, due, run, changed`

func scanHarvestRecord(s engine.Scanner) (HarvestRecord, error) {
	var r HarvestRecord
	var documents, files, work string
	var due, changed int64
	err := s.Scan(&r.ID, &r.Stamp, &r.Digest, &r.State, &documents, &files, &work, &r.Detail, &r.Tries, &due, &r.Run, &changed)
	if err == nil {
		err = errors.Join(json.Unmarshal([]byte(documents), &r.Documents), json.Unmarshal([]byte(files), &r.Files),
			json.Unmarshal([]byte(work), &r.Work))
	}
	r.Due, r.Changed = instant(due), instant(changed)
	return r, err
}

// HarvestRecords returns the known records of a source with the given ids, by id.
func (db *Harvest) HarvestRecords(ctx context.Context, id string, ids []string) (map[string]HarvestRecord, error) {
	out := map[string]HarvestRecord{}
	for part := range slices.Chunk(ids, MaxPage) { // a page of a repository can be longer
		args := []any{id}
		for _, one := range part {
			args = append(args, one)
		}
		rows, err := engine.Collect(ctx, db.read(), scanHarvestRecord,
			`SELECT `+harvestRecordColumns+` FROM harvest_record WHERE source = ? AND id IN (?`+
				strings.Repeat(", ?", len(args)-2)+`)`, args...)
		if err != nil {
			return nil, db.fail(err, "get records of source %s", id)
		}
		for _, r := range rows {
			out[r.ID] = r
		}
	}
	return out, nil
}

// DueRecords returns the records of a source that need work now: first those being withdrawn, then those waiting, and last those to
// retry.
func (db *Harvest) DueRecords(ctx context.Context, id string, now time.Time, limit int) ([]HarvestRecord, error) {
	out, err := engine.Collect(ctx, db.read(), scanHarvestRecord, `SELECT `+harvestRecordColumns+` FROM harvest_record
		WHERE source = ? AND (state IN (?, ?) OR state IN (?, ?) AND due > 0 AND due <= ?) ORDER BY state DESC, id LIMIT ?`,
		id, RecordWaiting, RecordWithdrawing, RecordFailed, RecordEmbargoed, stamp(now), page(limit))
	return out, db.fail(err, "list records of source %s", id)
}

// ListRecords returns records of a source after the given id, ordered by id; an empty state selects all states.
func (db *Harvest) ListRecords(ctx context.Context, id string, state HarvestRecordState, after string, limit int) ([]HarvestRecord, error) {
	where, args := `source = ? AND id > ?`, []any{id, after}
	if state != "" {
		where, args = where+` AND state = ?`, append(args, state)
	}
	out, err := engine.Collect(ctx, db.read(), scanHarvestRecord, `SELECT `+harvestRecordColumns+` FROM harvest_record WHERE `+where+
		` ORDER BY id LIMIT ?`, append(args, page(limit))...)
	return out, db.fail(err, "list records of source %s", id)
}

// CountRecords returns the number of a source's records in each state.
func (db *Harvest) CountRecords(ctx context.Context, id string) (map[HarvestRecordState]int, error) {
	type count struct {
		state HarvestRecordState
		n     int
	}
	rows, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (c count, err error) { return c, s.Scan(&c.state, &c.n) },
		`SELECT state, count(*) FROM harvest_record WHERE source = ? GROUP BY state`, id)
	out := map[HarvestRecordState]int{}
	for _, c := range rows {
		out[c.state] = c.n
	}
	return out, db.fail(err, "count records of source %s", id)
}

// UnseenRecords returns the number of a source's records that a run did not see, excluding records withdrawn earlier. If withdraw is set,
// it marks them so that their documents leave the library.
func (db *Harvest) UnseenRecords(ctx context.Context, id string, run int64, withdraw bool) (int, error) {
	const unseen = `source = ? AND run < ? AND state NOT IN ('` + string(RecordWithdrawn) + `', '` + string(RecordWithdrawing) + `')`
	if !withdraw {
		n := 0
		err := db.read().Row(ctx, `SELECT count(*) FROM harvest_record WHERE `+unseen, id, run).Scan(&n)
		return n, db.fail(err, "count records of source %s", id)
	}
	var n int64
	err := db.write(ctx, func(c engine.Conn) (err error) {
		n, err = c.Exec(ctx, `UPDATE harvest_record SET state = ?, due = 0, detail = '' WHERE `+unseen, RecordWithdrawing, id, run)
		return err
	})
	return int(n), db.fail(err, "withdraw records of source %s", id)
}

// PutWorks records the works to which documents of a library belong. It skips documents that do not exist.
func (db *Harvest) PutWorks(ctx context.Context, lib concordat.LibraryID, works map[concordat.DocumentID]concordat.Work) error {
	err := db.write(ctx, func(c engine.Conn) error {
		for id, w := range works {
			b, err := json.Marshal(w)
			if err != nil {
				return err
			}
			if _, err := c.Exec(ctx, `INSERT INTO document_work (library, document, work) SELECT library, id, ? FROM document
				WHERE library = ? AND id = ? ON CONFLICT (library, document) DO UPDATE SET work = excluded.work`,
				cleanText(string(b)), lib, id); err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "store %d works of %s", len(works), lib)
}

// Works returns the known works to which documents of a library belong.
func (db *Harvest) Works(ctx context.Context, lib concordat.LibraryID,
	ids []concordat.DocumentID) (map[concordat.DocumentID]concordat.Work, error) {
	out := map[concordat.DocumentID]concordat.Work{}
	if len(ids) == 0 {
		return out, nil
	}
	args := []any{lib}
	for _, id := range ids[:min(len(ids), MaxPage)] {
		args = append(args, id)
	}
	_, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (struct{}, error) {
		var id concordat.DocumentID
		var text string
		var w concordat.Work
		err := s.Scan(&id, &text)
		if err == nil {
			err = json.Unmarshal([]byte(text), &w)
		}
		out[id] = w
		return struct{}{}, err
	}, `SELECT document, work FROM document_work WHERE library = ? AND document IN (?`+strings.Repeat(", ?", len(args)-2)+`)`, args...)
	return out, db.fail(err, "list works of %s", lib)
}
