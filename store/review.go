package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"concordat"
	"concordat/store/engine"
)

// ReviewKind is the kind of a Review.
type ReviewKind string

// The kinds of reviews.
const (
	ReviewRules   ReviewKind = "rules"   // Data contains the rules in force from then on
	ReviewComment ReviewKind = "comment" // Text is the comment
	ReviewVerdict ReviewKind = "verdict" // Data is the verdict, Text the reason
	ReviewSignOff ReviewKind = "signoff" // another officer agrees with the latest verdict
	ReviewAssign  ReviewKind = "assign"  // Data is the account assigned from then on; "" for none
	ReviewDue     ReviewKind = "due"     // Data is the day, YYYY-MM-DD, by which a decision is due; "" for none
	ReviewEdited  ReviewKind = "edited"  // the comment numbered Data was edited; created only by ChangeComment
	ReviewRemoved ReviewKind = "removed" // the comment numbered Data was deleted; created only by ChangeComment
	ReviewLibrary ReviewKind = "library" // Data is the library to which the submission was added, or "" if it was removed
)

// Review is one decision about a check.
type Review struct {
	Seq  int // from 1; set by the store
	At   time.Time
	By   string
	Kind ReviewKind
	Text string
	Data json.RawMessage // one JSON value; nil means null
}

func scanReview(s engine.Scanner) (Review, error) {
	var r Review
	var at int64
	var data string
	err := s.Scan(&r.Seq, &at, &r.By, &r.Kind, &r.Text, &data)
	r.At, r.Data = instant(at), json.RawMessage(data)
	return r, err
}

// AppendReview adds a review of a task; existing reviews never change. If there is no such task, it fails with concordat.ErrNotFound.
func (db *Checks) AppendReview(ctx context.Context, id concordat.TaskID, r Review) (Review, error) {
	return db.AppendReviewIf(ctx, id, r, AnyRules)
}

// AnyRules makes AppendReviewIf succeed regardless of the rules.
const AnyRules = -1

// AppendReviewIf is AppendReview if the task's rules have been changed the given number of times; otherwise, it fails with
// concordat.ErrChanged. If two people change the same revision of the rules, only the first succeeds. AnyRules always matches.
func (db *Checks) AppendReviewIf(ctx context.Context, id concordat.TaskID, r Review, changes int) (Review, error) {
	switch r.Kind {
	case ReviewRules, ReviewComment, ReviewVerdict, ReviewSignOff, ReviewAssign, ReviewDue, ReviewLibrary:
	default:
		return r, db.fail(fmt.Errorf("%w: unknown kind of review %q", concordat.ErrInvalid, r.Kind), "review %s", id)
	}
	if r.Data == nil {
		r.Data = json.RawMessage("null")
	}
	if !json.Valid(r.Data) {
		return r, db.fail(fmt.Errorf("%w: the data is not valid JSON", concordat.ErrInvalid), "review %s", id)
	}
	r.Text, r.At = cleanText(r.Text), instant(stamp(r.At))
	err := db.write(ctx, func(c engine.Conn) error {
		var found string
		if err := c.Row(ctx, `SELECT id FROM task WHERE id = ?`, id).Scan(&found); err != nil {
			return err
		}
		var n int
		if err := c.Row(ctx, `SELECT count(*) FROM review WHERE task = ? AND kind = ?`, id, ReviewRules).Scan(&n); err != nil {
			return err
		}
		if changes != AnyRules && n != changes {
			return fmt.Errorf("%w: the rules are at revision %d, not %d", concordat.ErrChanged, n, changes)
		}
		return insertReview(ctx, c, id, &r)
	})
	return r, db.fail(err, "review %s", id)
}

// insertReview adds r as the latest review of a task and sets its number.
func insertReview(ctx context.Context, c engine.Conn, id concordat.TaskID, r *Review) error {
	if err := c.Row(ctx, `SELECT COALESCE(MAX(seq), 0) + 1 FROM review WHERE task = ?`, id).Scan(&r.Seq); err != nil {
		return err
	}
	_, err := c.Exec(ctx, `INSERT INTO review (task, seq, at, by, kind, text, data) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		id, r.Seq, stamp(r.At), cleanText(r.By), r.Kind, r.Text, cleanText(string(r.Data)))
	return err
}

// ChangeComment replaces the text of a numbered comment, or deletes the comment if text is empty; the previous text is not kept. The
// change is itself a review, which is returned. ChangeComment fails with concordat.ErrNotFound if there is no such comment, and with
// concordat.ErrRefused if someone else wrote it.
func (db *Checks) ChangeComment(ctx context.Context, id concordat.TaskID, number int, by, text string, at time.Time) (Review, error) {
	r := Review{At: instant(stamp(at)), By: cleanText(by), Kind: ReviewEdited, Data: json.RawMessage(strconv.Itoa(number))}
	if text == "" {
		r.Kind = ReviewRemoved
	}
	err := db.write(ctx, func(c engine.Conn) error {
		var author string
		if err := c.Row(ctx, `SELECT by FROM review WHERE task = ? AND seq = ? AND kind = ?`, id, number, ReviewComment).
			Scan(&author); err != nil {
			return err
		}
		if author != r.By {
			return fmt.Errorf("%w: the comment was written by %s", concordat.ErrRefused, author)
		}
		if err := insertReview(ctx, c, id, &r); err != nil { // comes first, so that numbers are not reused
			return err
		}
		var err error
		if text == "" {
			_, err = c.Exec(ctx, `DELETE FROM review WHERE task = ? AND seq = ?`, id, number)
		} else {
			_, err = c.Exec(ctx, `UPDATE review SET text = ? WHERE task = ? AND seq = ?`, cleanText(text), id, number)
		}
		return err
	})
	return r, db.fail(err, "comment %d on %s", number, id)
}

// Reviews returns the reviews of a task, oldest first. If the task does not exist, it returns none.
func (db *Checks) Reviews(ctx context.Context, id concordat.TaskID) ([]Review, error) {
	rs, err := engine.Collect(ctx, db.read(), scanReview, `SELECT seq, at, by, kind, text, data FROM review WHERE task = ? ORDER BY seq`, id)
	return rs, db.fail(err, "list the reviews of %s", id)
}
