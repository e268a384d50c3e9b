// Package settings serves the page of settings that an administrator can change while a site runs, including how rewritten text is found.
// Start with New.
package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"concordat"
	"concordat/store"
	"concordat/view"
	"concordat/web/message"
	"concordat/web/pages"
)

// Control shows and changes the settings of the process. It is safe for concurrent use.
type Control interface {
	Settings() []Setting
	// Set changes the values of keys while the site runs.
	Set(ctx context.Context, values []view.Setting, notes ...store.AuditNote) error
}

// Options configures the pages.
type Options struct {
	Control Control        // nil if there are no settings
	Meaning MeaningControl // nil if only commands can change how rewritten text is found
	Logger  *slog.Logger
}

// Settings shows and changes the settings of a site.
type Settings struct {
	frame pages.Frame
	o     Options
}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Settings {
	w := Settings{frame, o}
	frame.AddPage("GET /admin/settings", pages.Overseers, w.page)
	frame.AddPage("POST /admin/settings", pages.Administrators, w.change)
	frame.AddPage("POST /admin/meaning", pages.Administrators, w.changeMeaning)
	return w
}

// All returns the settings of the process without secret values.
func (w Settings) All() []Setting {
	if w.o.Control == nil {
		return nil
	}
	all := slices.Clone(w.o.Control.Settings())
	for i := range all {
		if secret(all[i].Key) && all[i].Value != "" {
			all[i].Value, all[i].Hidden = "", true
		}
	}
	return all
}

// Setting is a configuration key with the data that the page needs to change it.
type Setting struct {
	view.Setting
	Changeable bool     `json:"-"` // this page can change it: it is Live, and no variable or flag overrides it
	Words      []string `json:"-"` // possible values; nil if any value of Kind is allowed
	Kind       string   `json:"-"` // kind of value, for example a number in a range
	Least      string   `json:"-"` // minimum of a number
	Most       string   `json:"-"`
	Doc        string   `json:"-"` // description in English
}

// secret reports whether the value of a key must be hidden.
func secret(key string) bool {
	_, last, _ := strings.Cut("."+key, ".")
	for _, word := range []string{"secret", "password", "passphrase", "token", "private"} {
		if strings.Contains(last, word) {
			return true
		}
	}
	return false
}

// settingsView is the data of the settings page.
type settingsView struct {
	pages.Administration
	Groups  []settingGroup
	Raw     []Setting // settings that are changed by key
	All     []Setting
	Saved   string // the group that was saved; empty for none
	Problem string // explanation of an error in the request
	Lang    string // language of Problem, if it differs from the page's
	Meaning *meaningState
}

// meaningState describes to a visitor how the site finds rewritten text.
type meaningState struct {
	Meaning
	MayChange bool
}

func (w Settings) page(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.show(rw, r, v, http.StatusOK, settingsView{Saved: r.URL.Query().Get("saved")}, nil)
}

// show shows the page with the values entered into its form.
func (w Settings) show(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, code int, p settingsView, typed url.Values) {
	p.Administration = pages.AdministrationFor(v)
	p.All = w.All()
	for i := range p.All {
		one := &p.All[i]
		one.Changeable = one.Changeable && !one.Hidden && p.MayChange
		if raw := *one; raw.Changeable && formOf(raw.Key) == "" {
			if typed.Has("value:" + raw.Key) {
				raw.Value = typed.Get("value:" + raw.Key)
			}
			p.Raw = append(p.Raw, raw)
		}
	}
	p.Groups = grouped(p.All, typed)
	if m := w.Meaning(r.Context()); m != nil {
		p.Meaning = &meaningState{*m, p.MayChange}
	}
	w.frame.Show(rw, r, v, code, "admin_settings", "title.admin", p)
}

// change sets settings to the values of the form. It ignores values that the visitor did not change, since someone else may have changed
// them in the meantime.
func (w Settings) change(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	if w.o.Control == nil {
		w.frame.Fail(rw, r, v, pages.ErrNoProcess)
		return
	}
	if err := pages.ParseForm(rw, r); err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	var values []view.Setting
	detail := map[string]any{}
	for _, one := range w.All() {
		form := formOf(one.Key)
		to, sent := settingTyped(form, one, r.PostForm)
		if !sent || to == r.PostForm.Get("was:"+one.Key) || to == one.Value {
			continue
		}
		if form == formPercent && !r.PostForm.Has("value:"+one.Key) {
			if _, err := percentTyped(r.PostForm.Get("percent:" + one.Key)); err != nil {
				w.refuse(rw, r, v, err)
				return
			}
		}
		if !one.Changeable || one.Hidden {
			w.frame.Fail(rw, r, v, fmt.Errorf("setting %s: %w", one.Key, concordat.ErrInvalid))
			return
		}
		values, detail[one.Key] = append(values, view.Setting{Key: one.Key, Value: to}), to
	}
	if len(values) > 0 {
		if err := w.o.Control.Set(r.Context(), values, v.Note("settings_changed", detail)); err != nil {
			w.refuse(rw, r, v, err)
			return
		}
	}
	group := "all-keys"
	if from := r.PostForm.Get("group"); isSettingGroup(from) {
		group = "group-" + from
	}
	http.Redirect(rw, r, "/admin/settings?saved="+group+"#"+group, http.StatusSeeOther)
}

// refuse shows the form again and explains the error.
func (w Settings) refuse(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, err error) {
	if !errors.Is(err, concordat.ErrInvalid) {
		w.frame.Fail(rw, r, v, err)
		return
	}
	l := message.LanguageOf(r)
	why, _ := l.Reason(err)
	p := settingsView{Problem: nameInWords(l, cmp.Or(why, "error.invalid")), Lang: l.Other(err)}
	w.show(rw, r, v, http.StatusBadRequest, p, r.PostForm)
}
