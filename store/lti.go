package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// LTIPlatform is a learning platform that is allowed to use the site. Issuer and Client together identify it.
type LTIPlatform struct {
	ID       string // short name, unique
	Name     string
	Issuer   string
	Client   string // the site's client id at the platform
	AuthURL  string // where browsers go to sign in
	TokenURL string // source of access tokens
	// TokenAudience is the audience of a token request; empty for TokenURL.
	TokenAudience string
	KeysURL       string   // location of its public keys
	Deployments   []string // accepted deployments; "*" for any
	Hosts         []string // hosts of its services besides the hosts above; a leading dot includes all subdomains
	Disabled      bool
	Made          time.Time
}

const platformColumns = `id, name, issuer, client, auth_url, token_url, token_aud, keys_url, deployments, hosts, disabled, made`

func scanPlatform(s engine.Scanner) (LTIPlatform, error) {
	var p LTIPlatform
	var made int64
	var deployments, hosts string
	err := s.Scan(&p.ID, &p.Name, &p.Issuer, &p.Client, &p.AuthURL, &p.TokenURL, &p.TokenAudience, &p.KeysURL, &deployments, &hosts,
		&p.Disabled, &made)
	if err == nil {
		err = errors.Join(json.Unmarshal([]byte(deployments), &p.Deployments), json.Unmarshal([]byte(hosts), &p.Hosts))
	}
	p.Made = instant(made)
	return p, err
}

// PutLTIPlatform stores a platform, replacing any with its ID. If another platform has the same issuer and client, it fails with
// concordat.ErrExists.
func (db *LTI) PutLTIPlatform(ctx context.Context, p LTIPlatform) error {
	err := checkName("platform", p.ID)
	if err == nil && (p.Issuer == "" || p.Client == "") {
		err = fmt.Errorf("%w: the issuer or the client is missing", concordat.ErrInvalid)
	}
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error { return putPlatform(ctx, c, p) })
	}
	return db.fail(err, "store platform %s", p.ID)
}

func putPlatform(ctx context.Context, c engine.Conn, p LTIPlatform) error {
	list := func(all []string) (string, error) {
		if all == nil {
			all = []string{}
		}
		b, err := json.Marshal(all)
		return string(b), err
	}
	deployments, err := list(p.Deployments)
	if err != nil {
		return err
	}
	hosts, err := list(p.Hosts)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, `INSERT INTO lti_platform (`+platformColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, issuer = excluded.issuer, client = excluded.client, auth_url = excluded.auth_url,
		token_url = excluded.token_url, token_aud = excluded.token_aud, keys_url = excluded.keys_url, deployments = excluded.deployments,
		hosts = excluded.hosts, disabled = excluded.disabled`,
		p.ID, cleanText(p.Name), cleanText(p.Issuer), cleanText(p.Client), cleanText(p.AuthURL), cleanText(p.TokenURL),
		cleanText(p.TokenAudience), cleanText(p.KeysURL), deployments, hosts, flag(p.Disabled), stamp(p.Made))
	return err
}

// LTIPlatform returns a platform by its ID, or concordat.ErrNotFound.
func (db *LTI) LTIPlatform(ctx context.Context, id string) (LTIPlatform, error) {
	p, err := scanPlatform(db.read().Row(ctx, `SELECT `+platformColumns+` FROM lti_platform WHERE id = ?`, id))
	return p, db.fail(err, "platform %s", id)
}

// LTIPlatforms returns all platforms ordered by ID.
func (db *LTI) LTIPlatforms(ctx context.Context) ([]LTIPlatform, error) {
	ps, err := engine.Collect(ctx, db.read(), scanPlatform, `SELECT `+platformColumns+` FROM lti_platform ORDER BY id`)
	return ps, db.fail(err, "list platforms")
}

// LTIIssuer returns an issuer's platforms ordered by ID, for any client if client is empty.
func (db *LTI) LTIIssuer(ctx context.Context, issuer, client string) ([]LTIPlatform, error) {
	ps, err := engine.Collect(ctx, db.read(), scanPlatform,
		`SELECT `+platformColumns+` FROM lti_platform WHERE issuer = ? AND (client = ? OR ? = '') ORDER BY id`,
		issuer, client, client)
	return ps, db.fail(err, "list the platforms of %s", issuer)
}

// DeleteLTIPlatform deletes a platform, the choices made there and its requests for checks. The checks remain. If there is no such
// platform, it fails with concordat.ErrNotFound.
func (db *LTI) DeleteLTIPlatform(ctx context.Context, id string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `DELETE FROM lti_platform WHERE id = ?`, id)
		if err == nil && n == 0 {
			err = sql.ErrNoRows
		}
		for _, table := range []string{"lti_processor", "lti_asset", "lti_check"} {
			if err == nil {
				_, err = c.Exec(ctx, `DELETE FROM `+table+` WHERE platform = ?`, id)
			}
		}
		return err
	})
	return db.fail(err, "delete platform %s", id)
}

// PutLTIChoices stores a teacher's choices for an activity as JSON. An empty context applies to every context that has no choices.
func (db *LTI) PutLTIChoices(ctx context.Context, platform, id, context string, choices []byte) error {
	err := checkName("processor", id)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			_, err := c.Exec(ctx, `INSERT INTO lti_processor (platform, id, context, choices, made) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT (platform, id, context) DO UPDATE SET choices = excluded.choices`,
				platform, id, cleanText(context), cleanText(string(choices)), stamp(db.now()))
			return err
		})
	}
	return db.fail(err, "store the settings of %s", id)
}

// LTIChoices returns the choices for an activity in a context or, failing that, its choices for every context. If there are none, it
// fails with concordat.ErrNotFound.
func (db *LTI) LTIChoices(ctx context.Context, platform, id, context string) ([]byte, error) {
	var choices string
	err := db.read().Row(ctx, `SELECT choices FROM lti_processor WHERE platform = ? AND id = ? AND context IN (?, '')
		ORDER BY CASE WHEN context = '' THEN 1 ELSE 0 END LIMIT 1`, platform, id, context).Scan(&choices)
	return []byte(choices), db.fail(err, "get the settings of %s", id)
}

// LTICheck records whose work a check from a learning platform covers.
type LTICheck struct {
	Task                          concordat.TaskID
	Platform, Deployment, Context string
	Learner                       string // the submitter's name at the platform; empty for a teacher
	Made                          time.Time
}

const ltiCheckColumns = `task, platform, deployment, context, learner, made`

func scanLTICheck(s engine.Scanner) (LTICheck, error) {
	var k LTICheck
	var made int64
	err := s.Scan(&k.Task, &k.Platform, &k.Deployment, &k.Context, &k.Learner, &made)
	k.Made = instant(made)
	return k, err
}

// PutLTICheck records whose work a check covers; it does not change an existing record.
func (db *LTI) PutLTICheck(ctx context.Context, k LTICheck) error {
	err := checkName("task", k.Task)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error { return putLTICheck(ctx, c, k) })
	}
	return db.fail(err, "record check %s", k.Task)
}

func putLTICheck(ctx context.Context, c engine.Conn, k LTICheck) error {
	_, err := c.Exec(ctx, `INSERT INTO lti_check (`+ltiCheckColumns+`) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (task) DO NOTHING`,
		k.Task, k.Platform, cleanText(k.Deployment), cleanText(k.Context), cleanText(k.Learner), stamp(k.Made))
	return err
}

// LTICheck returns whose work a check covers, or concordat.ErrNotFound.
func (db *LTI) LTICheck(ctx context.Context, id concordat.TaskID) (LTICheck, error) {
	k, err := scanLTICheck(db.read().Row(ctx, `SELECT `+ltiCheckColumns+` FROM lti_check WHERE task = ?`, id))
	return k, db.fail(err, "check %s", id)
}

// LTIChecks returns the checks in a context, newest first, up to limit or MaxPage. A nonempty learner selects only that learner's checks.
func (db *LTI) LTIChecks(ctx context.Context, platform, deployment, context, learner string, limit int) ([]LTICheck, error) {
	ks, err := engine.Collect(ctx, db.read(), scanLTICheck, `SELECT `+ltiCheckColumns+` FROM lti_check
		WHERE platform = ? AND deployment = ? AND context = ? AND (learner = ? OR ? = '') ORDER BY made DESC, task LIMIT ?`,
		platform, deployment, context, learner, learner, page(limit))
	return ks, db.fail(err, "list the checks of a course on platform %s", platform)
}
