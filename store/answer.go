package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/store/engine"
)

// AnswerJob is the part of a partner's check of one document that concerns this site.
type AnswerJob struct {
	Partner    concordat.SiteID
	Job        concordat.JobID
	Epoch      concordat.Epoch
	Purpose    string
	Commitment [32]byte
	Made, Used time.Time
	Asks       int
	Sentences  int // number of sentences asked, including padding
}

// AnswerDocument is a document of this site that matched in a job.
type AnswerDocument struct {
	Handle   concordat.Handle
	Library  concordat.LibraryID
	Document concordat.DocumentID
	Hash     string         // hash of the matching text
	Told     concordat.Show // highest level at which it was disclosed
}

// AnswerHit is a sentence of an AnswerDocument that is close to an asked sentence.
type AnswerHit struct {
	Handle   concordat.Handle
	Sentence [8]byte // keyed hash of the asked sentence
	Ordinal  int
	Span     concordat.Span // in this site's text
	Distance int
	Weight   int  // weight as evidence, in tenths of a nat
	Told     bool // disclosed at level metadata or above
}

func fixedHex(dst []byte, s string) error {
	if n, err := hex.Decode(dst, []byte(s)); err != nil || n != len(dst) {
		return fmt.Errorf("%w: %q is not the hexadecimal form of %d bytes", concordat.ErrCorrupt, s, len(dst))
	}
	return nil
}

func scanJob(s engine.Scanner) (AnswerJob, error) {
	var j AnswerJob
	var job, commitment string
	var made, used int64
	err := s.Scan(&j.Partner, &job, &j.Epoch.Federation, &j.Epoch.Number, &j.Purpose, &commitment, &made, &used, &j.Asks, &j.Sentences)
	j.Made, j.Used = instant(made), instant(used)
	if err == nil {
		err = fixedHex(j.Job[:], job)
	}
	if err == nil {
		err = fixedHex(j.Commitment[:], commitment)
	}
	return j, err
}

const jobColumns = `partner, job, federation, number, purpose, commitment, made, used, asks, sentences`

// UseAnswerJob records another request within a job and returns the job. It reads all of j except Made, Used and Asks. It fails with
// concordat.ErrInvalid if the partner's job had a different epoch, purpose or commitment.
func (db *Answers) UseAnswerJob(ctx context.Context, j AnswerJob) (AnswerJob, error) {
	var out AnswerJob
	err := checkName("partner", j.Partner)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			now := stamp(db.now())
			var err error
			out, err = scanJob(c.Row(ctx, `INSERT INTO answer_job (`+jobColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?)
				ON CONFLICT (partner, job) DO UPDATE SET used = excluded.used, asks = answer_job.asks + 1,
					sentences = answer_job.sentences + excluded.sentences RETURNING `+jobColumns,
				j.Partner, hex.EncodeToString(j.Job[:]), j.Epoch.Federation, j.Epoch.Number, cleanText(j.Purpose),
				hex.EncodeToString(j.Commitment[:]), now, now, j.Sentences))
			if err == nil && (out.Epoch != j.Epoch || out.Purpose != cleanText(j.Purpose) || out.Commitment != j.Commitment) {
				return fmt.Errorf("%w: the job belongs to a different submission", concordat.ErrInvalid)
			}
			return err
		})
	}
	return out, db.fail(err, "record a job from %s", j.Partner)
}

// AnswerJob returns a partner's job, or concordat.ErrNotFound.
func (db *Answers) AnswerJob(ctx context.Context, partner concordat.SiteID, job concordat.JobID) (AnswerJob, error) {
	j, err := scanJob(db.read().Row(ctx, `SELECT `+jobColumns+` FROM answer_job WHERE partner = ? AND job = ?`, partner,
		hex.EncodeToString(job[:])))
	return j, db.fail(err, "get a job from %s", partner)
}

// ForgetAnswerJobs deletes jobs not used since the given time, except those with a standing ask.
func (db *Answers) ForgetAnswerJobs(ctx context.Context, before time.Time) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM answer_job WHERE used < ?
			AND NOT EXISTS (SELECT 1 FROM standing_ask s WHERE s.partner = answer_job.partner AND s.job = answer_job.job)`, stamp(before))
		return err
	})
	return db.fail(err, "delete old jobs")
}

// AddAnswerHits adds matches to a job. If a document was recorded with a different text, the new hits replace its earlier ones. Hits and
// levels that were disclosed stay disclosed.
func (db *Answers) AddAnswerHits(ctx context.Context, partner concordat.SiteID, job concordat.JobID, ds []AnswerDocument,
	hits []AnswerHit) error {
	if len(ds) == 0 && len(hits) == 0 {
		return nil
	}
	id := hex.EncodeToString(job[:])
	err := db.write(ctx, func(c engine.Conn) error {
		if err := putAnswerDocuments(ctx, c, partner, id, ds); err != nil {
			return err
		}
		put, err := c.Prepare(ctx, `INSERT INTO answer_hit (partner, job, handle, sentence, ordinal, span_start, span_end, distance, weight, told)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (partner, job, handle, sentence, ordinal) DO UPDATE SET weight = excluded.weight,
				told = CASE WHEN answer_hit.told > excluded.told THEN answer_hit.told ELSE excluded.told END`)
		if err != nil {
			return err
		}
		defer put.Close()
		for _, h := range hits {
			if _, err := put.ExecContext(ctx, partner, id, hex.EncodeToString(h.Handle[:]), hex.EncodeToString(h.Sentence[:]),
				h.Ordinal, h.Span.Start, h.Span.End, h.Distance, h.Weight, h.Told); err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "record the hits of a job from %s", partner)
}

// putAnswerDocuments adds documents to a job and deletes the hits of changed texts.
func putAnswerDocuments(ctx context.Context, c engine.Conn, partner concordat.SiteID, job string, ds []AnswerDocument) error {
	forget, err := c.Prepare(ctx, `DELETE FROM answer_hit WHERE partner = ? AND job = ? AND handle = ? AND EXISTS
		(SELECT 1 FROM answer_document WHERE partner = ? AND job = ? AND handle = ? AND hash <> ?)`)
	if err != nil {
		return err
	}
	defer forget.Close()
	put, err := c.Prepare(ctx, `INSERT INTO answer_document (partner, job, handle, library, document, hash, told) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (partner, job, handle) DO UPDATE SET
			told = CASE WHEN answer_document.hash = excluded.hash AND excluded.told = '' THEN answer_document.told ELSE excluded.told END,
			hash = excluded.hash`)
	if err != nil {
		return err
	}
	defer put.Close()
	for _, d := range ds {
		handle := hex.EncodeToString(d.Handle[:])
		if _, err := forget.ExecContext(ctx, partner, job, handle, partner, job, handle, d.Hash); err != nil {
			return err
		}
		if _, err := put.ExecContext(ctx, partner, job, handle, d.Library, d.Document, d.Hash, d.Told); err != nil {
			return err
		}
	}
	return nil
}

// AnswerDocument returns a document that matched in a job, or concordat.ErrNotFound.
func (db *Answers) AnswerDocument(ctx context.Context, partner concordat.SiteID, job concordat.JobID,
	h concordat.Handle) (AnswerDocument, error) {
	d := AnswerDocument{Handle: h}
	err := db.read().Row(ctx, `SELECT library, document, hash, told FROM answer_document WHERE partner = ? AND job = ? AND handle = ?`,
		partner, hex.EncodeToString(job[:]), hex.EncodeToString(h[:])).Scan(&d.Library, &d.Document, &d.Hash, &d.Told)
	return d, db.fail(err, "get a document of a job from %s", partner)
}

// OftenAnswered returns the partners that were shown one document in at least the given number of recorded jobs. For each, it returns the
// library of the document with the most jobs.
func (db *Answers) OftenAnswered(ctx context.Context, least int) ([]PartnerAlarm, error) {
	as, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (a PartnerAlarm, err error) {
		a.Kind = AlarmOneDocument
		return a, s.Scan(&a.Partner, &a.Library)
	}, `SELECT partner, library FROM (SELECT partner, library, document, count(*) AS jobs FROM answer_document WHERE told <> ''
		GROUP BY partner, library, document) AS told WHERE jobs >= ? GROUP BY partner, library ORDER BY max(jobs) DESC, partner, library`, least)
	return as, db.fail(err, "list documents that jobs find repeatedly")
}

// AnswerHits returns the hits of one document in a job, ordered by ordinal and sentence.
func (db *Answers) AnswerHits(ctx context.Context, partner concordat.SiteID, job concordat.JobID, h concordat.Handle) ([]AnswerHit, error) {
	hits, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (AnswerHit, error) {
		x := AnswerHit{Handle: h}
		var sentence string
		err := s.Scan(&sentence, &x.Ordinal, &x.Span.Start, &x.Span.End, &x.Distance, &x.Weight, &x.Told)
		if err == nil {
			err = fixedHex(x.Sentence[:], sentence)
		}
		return x, err
	}, `SELECT sentence, ordinal, span_start, span_end, distance, weight, told FROM answer_hit
		WHERE partner = ? AND job = ? AND handle = ? ORDER BY ordinal, sentence`,
		partner, hex.EncodeToString(job[:]), hex.EncodeToString(h[:]))
	return hits, db.fail(err, "list the hits of a job from %s", partner)
}

// Question is an asked sentence, with the nearby sentences of one library.
type Question struct {
	Name [8]byte // keyed hash of the fingerprint; each partner has a different key
	Near []NearSentence
}

// NearSentence is a sentence of this site that is close to an asked sentence.
type NearSentence struct {
	Document concordat.DocumentID
	Ordinal  int
	Within   bool // it is within the gate, so it can be disclosed; otherwise, it is slightly beyond
	// Counts means that a question beyond the gate counts even if the sentence was not disclosed to the partner. The partner knows of the
	// document, so it can tell what was left out.
	Counts bool
}

// Asking is the partner and the library for which questions are counted.
type Asking struct {
	Partner concordat.SiteID
	Library concordat.LibraryID
	Job     concordat.JobID
}

// Counted states how far a question can be answered.
type Counted struct {
	Withheld bool // the question must not be answered
	// Places contains, for each sentence in the question's Near, the number of other questions about the sentence that were counted
	// earlier. It is nil if Withheld is set.
	Places []int
}

// CountQuestions counts, for each sentence of this site, the different questions close to it since a given time, in any epoch, and
// returns how far the given questions can be answered. It withholds a question that would reveal a sentence with as many counted
// questions as most allows, or one that another question of the same job revealed. It counts the others; a question counted before keeps
// its place and costs nothing. Questions beyond the gate count if NearSentence says so, or if a question about the sentence was counted
// before. Together, concurrent calls never count more than most.
func (db *Answers) CountQuestions(ctx context.Context, a Asking, since time.Time, most int, questions []Question) (out []Counted,
	err error) {
	err = db.write(ctx, func(c engine.Conn) error {
		out = make([]Counted, len(questions)) // reset, because the transaction may run again
		known, err := askedOf(ctx, c, a, since, questions)
		if err != nil {
			return err
		}
		now := stamp(db.now())
		put, err := c.Prepare(ctx, `INSERT INTO answer_question (partner, library, document, ordinal, question, job, place, made)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (partner, library, document, ordinal, question)
			DO UPDATE SET job = excluded.job, place = excluded.place, made = excluded.made`)
		if err != nil {
			return err
		}
		defer put.Close()
		job := hex.EncodeToString(a.Job[:])
		for i, q := range questions {
			name := hex.EncodeToString(q.Name[:])
			if out[i].Withheld = slices.ContainsFunc(q.Near, func(s NearSentence) bool {
				return s.Within && known[s.sentence()].closed(name, job, most)
			}); out[i].Withheld {
				continue
			}
			out[i].Places = make([]int, len(q.Near))
			for n, s := range q.Near {
				k := known[s.sentence()]
				if was := k[name]; was != nil {
					out[i].Places[n] = was.place
					continue
				}
				out[i].Places[n] = len(k)
				if !s.Within && (!s.Counts && len(k) == 0 || len(k) >= most) {
					continue
				}
				if k == nil {
					k = askedQuestions{}
					known[s.sentence()] = k
				}
				k[name] = &askedIn{place: len(k)}
				if _, err := put.ExecContext(ctx, a.Partner, a.Library, s.Document, s.Ordinal, name, job, k[name].place, now); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return out, db.fail(err, "count the questions from %s", a.Partner)
}

// sentence identifies a sentence in a library.
type sentence struct {
	document concordat.DocumentID
	ordinal  int
}

func (s *NearSentence) sentence() sentence { return sentence{s.Document, s.Ordinal} }

// askedQuestions contains the questions close to one sentence, by name.
type askedQuestions map[string]*askedIn

// askedIn is the job of an earlier question (empty for the current job) and the question's position among all questions.
type askedIn struct {
	job   string
	place int
}

// closed reports whether a question must not reveal the sentence.
func (k askedQuestions) closed(name, job string, most int) bool {
	if k[name] != nil {
		return false
	}
	if len(k) >= most {
		return true
	}
	for _, x := range k {
		if x.job == job {
			return true
		}
	}
	return false
}

// askedOf reads the questions about the given documents.
func askedOf(ctx context.Context, c engine.Conn, a Asking, since time.Time, questions []Question) (map[sentence]askedQuestions, error) {
	documents := map[concordat.DocumentID]bool{}
	var ids []any
	for _, q := range questions {
		for _, s := range q.Near {
			if !documents[s.Document] {
				documents[s.Document] = true
				ids = append(ids, s.Document)
			}
		}
	}
	out := map[sentence]askedQuestions{}
	type row struct {
		sentence
		name string
		askedIn
	}
	for part := range slices.Chunk(ids, 500) {
		args := append([]any{a.Partner, a.Library, stamp(since)}, part...)
		rows, err := engine.Collect(ctx, c, func(s engine.Scanner) (x row, err error) {
			err = s.Scan(&x.document, &x.ordinal, &x.name, &x.job, &x.place)
			return x, err
		}, `SELECT document, ordinal, question, job, place FROM answer_question WHERE partner = ? AND library = ?
			AND made > ? AND document IN (?`+strings.Repeat(", ?", len(part)-1)+`)`, args...)
		if err != nil {
			return nil, err
		}
		for _, x := range rows {
			if out[x.sentence] == nil {
				out[x.sentence] = askedQuestions{}
			}
			out[x.sentence][x.name] = &x.askedIn
		}
	}
	return out, nil
}

// ForgetQuestions deletes the questions counted before the given time.
func (db *Answers) ForgetQuestions(ctx context.Context, before time.Time) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM answer_question WHERE made < ?`, stamp(before))
		return err
	})
	return db.fail(err, "delete old questions")
}

// Shipped is a document sent to a partner's mirror.
type Shipped struct {
	Handle   concordat.Handle
	Library  concordat.LibraryID
	Document concordat.DocumentID
	Hash     string
}

// AddShipped records documents sent to a partner's mirror; each replaces the row of its handle.
func (db *Answers) AddShipped(ctx context.Context, partner concordat.SiteID, e concordat.Epoch, ds []Shipped) error {
	if len(ds) == 0 {
		return nil
	}
	err := db.write(ctx, func(c engine.Conn) error {
		for _, d := range ds {
			if _, err := c.Exec(ctx, `INSERT INTO shipped (partner, federation, number, handle, library, document, hash) VALUES (?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (partner, federation, number, handle) DO UPDATE SET hash = excluded.hash`,
				partner, e.Federation, e.Number, hex.EncodeToString(d.Handle[:]), d.Library, d.Document, d.Hash); err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "record documents shipped to %s", partner)
}

// DropShipped deletes the record of a partner's mirrors of a library.
func (db *Answers) DropShipped(ctx context.Context, partner concordat.SiteID, lib concordat.LibraryID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM shipped WHERE partner = ? AND library = ?`, partner, lib)
		return err
	})
	return db.fail(err, "forget the mirror of %s at %s", lib, partner)
}

// ShippedDocument returns a document of a partner's mirror, or concordat.ErrNotFound.
func (db *Answers) ShippedDocument(ctx context.Context, partner concordat.SiteID, e concordat.Epoch, h concordat.Handle) (Shipped, error) {
	d := Shipped{Handle: h}
	err := db.read().Row(ctx, `SELECT library, document, hash FROM shipped WHERE partner = ? AND federation = ? AND number = ? AND handle = ?`,
		partner, e.Federation, e.Number, hex.EncodeToString(h[:])).Scan(&d.Library, &d.Document, &d.Hash)
	return d, db.fail(err, "get a document shipped to %s", partner)
}
