package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// The states of an LTIAsset.
const (
	LTIFetch  = "fetch"  // its file is not yet fetched
	LTIChecks = "check"  // its check has not ended, or the platform has not been notified of the result
	LTIDone   = "done"   // the platform has the result
	LTIFailed = "failed" // given up; see Code and Cause
)

// LTIAsset is a file sent by a platform to be checked.
type LTIAsset struct {
	ID                            string
	Platform, Deployment, Context string
	Activity, Submission          string
	Asset                         string // the platform's name for it
	Learner                       string // the submitter's name at the platform
	Processor                     string // activity with the choices; can be empty
	URL, ReportURL                string
	Title, Filename, Media        string
	Digest                        string // hexadecimal SHA-256 stated by the platform; can be empty

	// The remaining fields track its progress.

	State    string
	Told     string // progress last sent to the platform
	Code     string // code of a failure
	Cause    string // cause of a failure, for the administrator
	Task     concordat.TaskID
	Attempts int // failed attempts in this state
	Due      time.Time
	Made     time.Time
}

const assetColumns = `id, platform, deployment, context, activity, submission, asset, learner, processor, url, report_url, title, filename, media, digest,
	state, told, code, cause, task, attempts, due, made`

func scanAsset(s engine.Scanner) (LTIAsset, error) {
	var a LTIAsset
	var due, made int64
	err := s.Scan(&a.ID, &a.Platform, &a.Deployment, &a.Context, &a.Activity, &a.Submission, &a.Asset, &a.Learner, &a.Processor, &a.URL,
		&a.ReportURL,
		&a.Title, &a.Filename, &a.Media, &a.Digest, &a.State, &a.Told, &a.Code, &a.Cause, &a.Task, &a.Attempts, &due, &made)
	a.Due, a.Made = instant(due), instant(made)
	return a, err
}

const flowNotice = "lti-notice"

// TakeLTINotice accepts all assets of a notice or none, and remembers the notice until forget. It reports whether the notice is new; a
// repeated one changes nothing. A known asset keeps its ID. If it had failed, it is fetched again; if it was done, its result is sent to
// the platform again.
func (db *LTI) TakeLTINotice(ctx context.Context, notice string, forget time.Time, assets []LTIAsset) (bool, error) {
	fresh := true
	err := db.write(ctx, func(c engine.Conn) error {
		now := db.now()
		if _, err := c.Exec(ctx, `DELETE FROM flow WHERE expires <= ?`, stamp(now)); err != nil {
			return err
		}
		n, err := c.Exec(ctx, `INSERT INTO flow (kind, hash, data, expires) VALUES (?, ?, '', ?) ON CONFLICT (kind, hash) DO NOTHING`,
			flowNotice, tokenHash(notice), stamp(forget))
		if err != nil || n == 0 {
			fresh = false
			return err
		}
		for _, a := range assets {
			if err := takeAsset(ctx, c, a, now); err != nil {
				return err
			}
		}
		return nil
	})
	return fresh && err == nil, db.fail(err, "take a notice")
}

func takeAsset(ctx context.Context, c engine.Conn, a LTIAsset, now time.Time) error {
	if err := checkName("asset", a.ID); err != nil {
		return err
	}
	_, err := c.Exec(ctx, `INSERT INTO lti_asset (`+assetColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', '', '', 0, ?, ?)
		ON CONFLICT (platform, deployment, report_url, asset) DO UPDATE SET
			url = excluded.url, digest = excluded.digest, told = '', attempts = 0, due = excluded.due,
			state = CASE WHEN lti_asset.state = ? THEN ? WHEN lti_asset.state = ? THEN ? ELSE lti_asset.state END,
			task = CASE WHEN lti_asset.state = ? THEN '' ELSE lti_asset.task END, code = '', cause = ''`,
		a.ID, a.Platform, cleanText(a.Deployment), cleanText(a.Context), cleanText(a.Activity), cleanText(a.Submission), cleanText(a.Asset),
		cleanText(a.Learner), cleanText(a.Processor), cleanText(a.URL), cleanText(a.ReportURL), cleanText(a.Title),
		cleanText(a.Filename), cleanText(a.Media), cleanText(a.Digest), LTIFetch, stamp(now), stamp(a.Made),
		LTIFailed, LTIFetch, LTIDone, LTIChecks, LTIFailed)
	return err
}

// ClaimLTIAsset claims, until the lease ends, one asset that needs work: it is not yet fetched, its check has ended or is gone, or the
// platform does not yet know that its check started. If there is none, it fails with concordat.ErrNotFound.
func (db *LTI) ClaimLTIAsset(ctx context.Context, lease time.Duration) (LTIAsset, error) {
	now := db.now()
	var a LTIAsset
	none := false
	err := db.write(ctx, func(c engine.Conn) error {
		var err error
		a, err = scanAsset(c.Row(ctx, `UPDATE lti_asset SET due = ? WHERE id = (
			SELECT a.id FROM lti_asset a LEFT JOIN task t ON t.id = a.task
			WHERE a.due <= ? AND (a.state = ? OR a.state = ? AND (t.id IS NULL OR a.told = '' OR t.state NOT IN (?, ?)))
			ORDER BY a.due, a.id LIMIT 1) RETURNING `+assetColumns,
			stamp(now.Add(lease)), stamp(now), LTIFetch, LTIChecks, concordat.TaskQueued, concordat.TaskRunning))
		if errors.Is(err, sql.ErrNoRows) {
			none = true
			return nil
		}
		return err
	})
	if err == nil && none {
		err = concordat.ErrNotFound
	}
	return a, db.fail(err, "claim an asset")
}

// SetLTIAsset stores the progress of an asset and, if it has a Task, records whose work that task checks. If the asset is gone, it fails
// with concordat.ErrNotFound.
func (db *LTI) SetLTIAsset(ctx context.Context, a LTIAsset) error {
	var err error
	switch a.State {
	case LTIFetch, LTIChecks, LTIDone, LTIFailed:
	default:
		err = fmt.Errorf("%w: unknown state %q", concordat.ErrInvalid, a.State)
	}
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			n, err := c.Exec(ctx, `UPDATE lti_asset SET state = ?, told = ?, code = ?, cause = ?, task = ?, attempts = ?, due = ? WHERE id = ?`,
				a.State, a.Told, cleanText(a.Code), cleanText(a.Cause), a.Task, a.Attempts, stamp(a.Due), a.ID)
			if err == nil && n == 0 {
				err = sql.ErrNoRows
			}
			if err != nil || a.Task == "" {
				return err
			}
			return putLTICheck(ctx, c, LTICheck{a.Task, a.Platform, a.Deployment, a.Context, a.Learner, a.Made})
		})
	}
	return db.fail(err, "store asset %s", a.ID)
}

// FindLTIAsset returns the record of an asset, or the latest record if several processors have it, or concordat.ErrNotFound. An empty
// processor matches any.
func (db *LTI) FindLTIAsset(ctx context.Context, platform, deployment, asset, processor string) (LTIAsset, error) {
	a, err := scanAsset(db.read().Row(ctx, `SELECT `+assetColumns+` FROM lti_asset
		WHERE platform = ? AND deployment = ? AND asset = ? AND (processor = ? OR ? = '') ORDER BY made DESC, id LIMIT 1`,
		platform, deployment, asset, processor, processor))
	return a, db.fail(err, "asset %s", asset)
}

// LTIAssets returns the files sent by platforms to be checked, newest first, up to limit or MaxPage.
func (db *LTI) LTIAssets(ctx context.Context, limit int) ([]LTIAsset, error) {
	as, err := engine.Collect(ctx, db.read(), scanAsset, `SELECT `+assetColumns+` FROM lti_asset ORDER BY made DESC, id LIMIT ?`, page(limit))
	return as, db.fail(err, "list assets")
}
