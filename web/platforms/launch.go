package platforms

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"concordat"
	"concordat/store"
	"concordat/web"
	"concordat/web/lti"
	"concordat/web/message"
	"concordat/web/pages"
	websession "concordat/web/session"
)

type windowPage struct{ Key string }

// launch handles a visitor who arrives from a platform with a message (1EdTech Security Framework 1.0, section 5.1.1.3).
func (d *Tool) launch(rw http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(rw, r.Body, lti.MaxMessage+64<<10)
	if err := r.ParseForm(); err != nil {
		d.w.Fail(rw, r, nil, fmt.Errorf("form: %w: %w", concordat.ErrInvalid, err))
		return
	}
	var s launchState
	err := d.take(r.Context(), flowLTI, r.PostForm.Get("state"), &s)
	var p store.LTIPlatform
	if err == nil {
		p, err = d.enabled(r.Context(), s.Platform)
	}
	if errors.Is(err, concordat.ErrNotFound) {
		d.w.Show(rw, r, nil, http.StatusBadRequest, "lti_lost", "title.lti", nil)
		return
	}
	if err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	d.frame(rw, p, web.ContentPolicy)
	c, err := r.Cookie(d.w.Sessions.HostCookie(stateCookie))
	if err != nil { // the browser stores no cookies here, so nothing in the request is used
		d.ownWindow(rw, r, s)
		return
	}
	m, err := d.message(r.Context(), p, s, c.Value, r.PostForm)
	if err == nil {
		err = d.open(rw, r, p, m)
	}
	if err != nil {
		d.w.Audit(r.Context(), pages.PlatformOwner+p.ID, "lti_launch", map[string]any{"ok": false, "error": err.Error()})
		d.w.Fail(rw, r, nil, err)
	}
}

// ownWindow shows a link that repeats the launch in a separate window, where cookies are stored.
func (d *Tool) ownWindow(rw http.ResponseWriter, r *http.Request, s launchState) {
	key := rand.Text()
	if err := d.put(r.Context(), flowLTIAgain, key, s, websession.FlowTime); err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	d.w.Show(rw, r, nil, http.StatusOK, "lti_window", "title.lti", windowPage{key})
}

// message returns the platform's message after verifying it.
func (d *Tool) message(ctx context.Context, p store.LTIPlatform, s launchState, browser string, f url.Values) (*lti.Message, error) {
	if !websession.EqualText(websession.HashText(browser), s.Browser) {
		return nil, fmt.Errorf("launch: %w: the launch was started in a different browser", concordat.ErrRefused)
	}
	if e := f.Get("error"); e != "" {
		return nil, fmt.Errorf("launch: %w: the platform returned error %.100q", concordat.ErrRefused, e)
	}
	m, err := d.client.Verify(ctx, platformOf(p), f.Get("id_token"))
	switch {
	case err != nil:
		return nil, err
	case !websession.EqualText(m.Nonce, s.Nonce):
		return nil, fmt.Errorf("launch: %w: the nonce does not match", concordat.ErrRefused)
	case s.Deployment != "" && s.Deployment != m.Deployment:
		return nil, fmt.Errorf("launch: %w: the launch was started for deployment %q but completed for deployment %q", concordat.ErrRefused, s.Deployment, m.Deployment)
	}
	return m, nil
}

// open signs a person in to the course of a message and redirects to the page that the message requests.
func (d *Tool) open(rw http.ResponseWriter, r *http.Request, p store.LTIPlatform, m *lti.Message) error {
	s := &session{Platform: p.ID, Deployment: m.Deployment, Context: contextOf(m), Course: m.Context.Title, Subject: m.Subject,
		Name: m.Name, Teacher: m.Teaches(), platform: p}
	if !d.mayUse(s) {
		return fmt.Errorf("launch: %w: %s has none of the required roles", concordat.ErrRefused, m.Subject)
	}
	to := "/lti/checks"
	switch m.Type {
	case lti.TypeResourceLink:
	case lti.TypeReview:
		a, err := d.w.Options().Store.LTI.FindLTIAsset(r.Context(), p.ID, m.Deployment, m.Asset.ID, m.Custom[customProcessor])
		if err != nil {
			return err
		}
		if a.Context != contextOf(m) {
			return fmt.Errorf("launch: %w: the file belongs to a different course", concordat.ErrRefused)
		}
		if a.Task != "" {
			to += "/" + url.PathEscape(string(a.Task))
		}
	case lti.TypeDeepLinking, lti.TypeSettings:
		key, err := d.beginConfigure(r.Context(), s, m)
		if err != nil {
			return err
		}
		to = "/lti/configure?key=" + key
	default:
		return fmt.Errorf("launch: %w: unexpected message type %q", concordat.ErrInvalid, m.Type)
	}
	secret := rand.Text()
	detail := map[string]any{"ok": true, "type": m.Type, "deployment": m.Deployment, "context": s.Context, "teacher": s.Teacher}
	err := pages.Change(r.Context(), d.w.Options().Store, s.visitor().Name, "lti_launch", detail, func(tx *store.DB) error {
		return d.putIn(r.Context(), tx, flowLTISession, secret, s, sessionTime)
	})
	if err != nil {
		return err
	}
	d.cookie(rw, sessionCookie, secret, sessionTime)
	http.Redirect(rw, r, to, http.StatusSeeOther)
	return nil
}

// customProcessor is the parameter that a platform uses to refer to the choices for an activity.
const customProcessor = "concordat_processor"

// choices are a teacher's settings for an activity.
type choices struct {
	Libraries []concordat.LibraryID `json:"libraries,omitempty"` // empty for all libraries
	Template  string                `json:"template,omitempty"`
}

// pendingChoice is a platform's request that waits for a teacher's choices.
type pendingChoice struct {
	Platform, Context, Processor string
	Message                      *lti.Message // deep linking message; nil if existing choices are changed
}

func (d *Tool) beginConfigure(ctx context.Context, s *session, m *lti.Message) (string, error) {
	if !s.Teacher {
		return "", fmt.Errorf("configure: %w: only teachers may configure this tool", concordat.ErrRefused)
	}
	one := pendingChoice{Platform: s.Platform, Context: s.Context, Processor: m.Custom[customProcessor]}
	if m.Type == lti.TypeDeepLinking {
		if m.DeepLinking == nil || !slices.Contains(m.DeepLinking.Accept, lti.ItemProcessor) {
			return "", fmt.Errorf("configure: %w: the platform does not accept %s here", concordat.ErrInvalid, lti.ItemProcessor)
		}
		if u, err := url.Parse(m.DeepLinking.ReturnURL); err != nil || !platformOf(s.platform).Serves(u) {
			return "", fmt.Errorf("configure: %w: the response would go to %q, which does not belong to the platform", concordat.ErrRefused, m.DeepLinking.ReturnURL)
		}
		if err := d.subscribe(ctx, s, m); err != nil {
			return "", err
		}
		one.Processor, one.Message = strings.ToLower(rand.Text()), m
	}
	key := rand.Text()
	return key, d.put(ctx, flowLTIConfigure, key, one, sessionTime)
}

// subscribe asks the platform for notices of submissions, without which nothing would be checked.
func (d *Tool) subscribe(ctx context.Context, s *session, m *lti.Message) error {
	if m.Notices == nil || !slices.Contains(m.Notices.Types, lti.NoticeSubmission) {
		return fmt.Errorf("configure: %w: the platform does not send %s", concordat.ErrInvalid, lti.NoticeSubmission)
	}
	ctx, cancel := context.WithTimeout(ctx, websession.SignTime)
	defer cancel()
	return d.client.Subscribe(ctx, platformOf(s.platform), m.Notices, lti.NoticeSubmission, d.tool().NoticeURL())
}

type configurePage struct {
	Key       string
	Libraries []store.Library
	Templates []string
	Choices   choices
	New       bool
}

// Chosen reports whether a library is selected.
func (p configurePage) Chosen(id concordat.LibraryID) bool {
	return slices.Contains(p.Choices.Libraries, id)
}

func (d *Tool) pending(ctx context.Context, s *session, key string) (one pendingChoice, err error) {
	data, err := d.w.Options().Store.People.Flow(ctx, flowLTIConfigure, key)
	if err == nil {
		err = json.Unmarshal([]byte(data), &one)
	}
	if err == nil && (!s.Teacher || one.Platform != s.Platform || one.Context != s.Context) {
		err = fmt.Errorf("configure: %w: the form belongs to a different launch", concordat.ErrRefused)
	}
	return one, err
}

func (d *Tool) configurePage(rw http.ResponseWriter, r *http.Request, s *session) {
	ctx, key := r.Context(), r.URL.Query().Get("key")
	one, err := d.pending(ctx, s, key)
	p := configurePage{Key: key, Templates: d.w.Options().Choices.Templates(), New: one.Message != nil}
	if err == nil {
		p.Choices, err = d.choices(ctx, s.Platform, one.Processor, s.Context)
	}
	if err == nil {
		p.Libraries, err = d.w.Options().Store.Catalogue.Libraries(ctx)
	}
	if err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	d.w.Show(rw, r, nil, http.StatusOK, "lti_configure", "title.lti.configure", p)
}

// choices returns the teacher's choices; it is not an error if there are none.
func (d *Tool) choices(ctx context.Context, platform, processor, context string) (c choices, err error) {
	if processor == "" {
		return c, nil
	}
	b, err := d.w.Options().Store.LTI.LTIChoices(ctx, platform, processor, context)
	if errors.Is(err, concordat.ErrNotFound) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	return c, err
}

type answerPage struct{ URL, Token string }

// configure saves a teacher's choices and, for a new activity, answers the platform.
func (d *Tool) configure(rw http.ResponseWriter, r *http.Request, s *session) {
	err := pages.ParseForm(rw, r)
	var one pendingChoice
	if err == nil {
		one, err = d.pending(r.Context(), s, r.PostForm.Get("key"))
	}
	if err == nil {
		err = d.keepChoices(r.Context(), s, one, r.PostForm)
	}
	if err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	if one.Message == nil {
		d.w.Show(rw, r, nil, http.StatusOK, "lti_kept", "title.lti.configure", nil)
		return
	}
	raw, err := d.o.Keys.DeepLinkingResponse(platformOf(s.platform), one.Message,
		&lti.Item{Title: d.w.Options().Current.Title(), Text: message.LanguageOf(r).Say("lti.item"),
			Custom: map[string]string{customProcessor: one.Processor}, ReportURL: d.tool().LaunchURL()}, d.w.Options().Now())
	to, bad := url.Parse(one.Message.DeepLinking.ReturnURL)
	if err = errors.Join(err, bad); err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	// This is the only form that submits to the platform.
	d.frame(rw, s.platform, strings.Replace(web.ContentPolicy, "form-action 'self'", "form-action "+to.Scheme+"://"+to.Host, 1))
	d.w.Show(rw, r, nil, http.StatusOK, "lti_answer", "title.lti.configure", answerPage{to.String(), raw})
}

func (d *Tool) keepChoices(ctx context.Context, s *session, one pendingChoice, f url.Values) error {
	var c choices
	for _, name := range f["library"] {
		l, err := d.w.Options().Store.Catalogue.Library(ctx, concordat.LibraryID(name))
		if err != nil {
			return fmt.Errorf("%w: %v", concordat.ErrInvalid, err)
		}
		c.Libraries = append(c.Libraries, l.ID)
	}
	if c.Template = f.Get("template"); !d.w.Intake.IsTemplate(c.Template) {
		return fmt.Errorf("template %q: %w", c.Template, concordat.ErrInvalid)
	}
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if one.Processor == "" {
		return fmt.Errorf("configure: %w: the platform did not identify the activity", concordat.ErrInvalid)
	}
	context := s.Context
	if one.Message != nil {
		context = "" // the choices also apply to copies of the course
	}
	detail := map[string]any{"processor": one.Processor, "context": s.Context}
	return pages.Change(ctx, d.w.Options().Store, s.visitor().Name, "lti_configured", detail, func(tx *store.DB) error {
		return tx.LTI.PutLTIChoices(ctx, s.Platform, one.Processor, context, b)
	})
}
