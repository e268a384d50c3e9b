package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"concordat"
	"concordat/web/message"
	"concordat/web/pages"
)

// Settings returns the settings of the process, always without secrets.
func (w adminPages) Settings() []Setting {
	if w.o.Admin == nil || w.o.Admin.Settings == nil {
		return nil
	}
	all := slices.Clone(w.o.Admin.Settings())
	for i := range all {
		if secret(all[i].Key) && all[i].Value != "" {
			all[i].Value, all[i].Hidden = "", true
		}
	}
	return all
}

// secret reports whether the value of a key must not be shown.
func secret(key string) bool {
	_, last, _ := strings.Cut("."+key, ".")
	for _, word := range []string{"secret", "password", "passphrase", "token", "private"} {
		if strings.Contains(last, word) {
			return true
		}
	}
	return false
}

// settingsView is the page of settings.
type settingsView struct {
	adminFrame
	Groups  []settingGroup
	Raw     []Setting // settings that are changed by key
	All     []Setting
	Saved   string // the group that was saved; empty: none
	Problem string // what is wrong with the request
	Lang    string // language of Problem, if it is not the page's
	Meaning *meaningState
}

// meaningState describes to a visitor how the site finds rewritten text.
type meaningState struct {
	Meaning
	MayChange bool
}

func (w adminPages) settingsPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	w.showSettings(rw, r, v, http.StatusOK, settingsView{Saved: r.URL.Query().Get("saved")}, nil)
}

// showSettings shows the page, with what was entered into its form.
func (w adminPages) showSettings(rw http.ResponseWriter, r *http.Request, v *Visitor, code int, p settingsView, typed url.Values) {
	p.adminFrame = adminFor(v)
	p.All = w.Settings()
	for i := range p.All {
		one := &p.All[i]
		one.Changeable = one.Changeable && !one.Hidden && p.MayChange && w.o.Admin.Set != nil
		if raw := *one; raw.Changeable && formOf(raw.Key) == "" {
			if typed.Has("value:" + raw.Key) {
				raw.Value = typed.Get("value:" + raw.Key)
			}
			p.Raw = append(p.Raw, raw)
		}
	}
	p.Groups = grouped(p.All, typed)
	if m := w.Web.Meaning.Now(r.Context()); m != nil {
		p.Meaning = &meaningState{*m, p.MayChange}
	}
	w.Show(rw, r, v, code, "admin_settings", "title.admin", p)
}

// changeSettings sets settings to the values of the form. Values that its sender did not change stay as they are, since someone else may
// have set them in the meantime.
func (w adminPages) changeSettings(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	if w.o.Admin == nil || w.o.Admin.Set == nil {
		w.Fail(rw, r, v, errNoAdmin)
		return
	}
	if err := pages.ParseForm(rw, r); err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	var values []Setting
	detail := map[string]any{}
	for _, one := range w.Settings() {
		form := formOf(one.Key)
		to, sent := settingTyped(form, one, r.PostForm)
		if !sent || to == r.PostForm.Get("was:"+one.Key) || to == one.Value {
			continue
		}
		if form == formPercent && !r.PostForm.Has("value:"+one.Key) {
			if _, err := percentTyped(r.PostForm.Get("percent:" + one.Key)); err != nil {
				w.refuseSettings(rw, r, v, err)
				return
			}
		}
		if !one.Changeable || one.Hidden {
			w.Fail(rw, r, v, fmt.Errorf("setting %s: %w", one.Key, concordat.ErrInvalid))
			return
		}
		values, detail[one.Key] = append(values, Setting{Key: one.Key, Value: to}), to
	}
	if len(values) > 0 {
		if err := w.o.Admin.Set(r.Context(), values, v.Note("settings_changed", detail)); err != nil {
			w.refuseSettings(rw, r, v, err)
			return
		}
	}
	group := "all-keys"
	if from := r.PostForm.Get("group"); isSettingGroup(from) {
		group = "group-" + from
	}
	http.Redirect(rw, r, "/admin/settings?saved="+group+"#"+group, http.StatusSeeOther)
}

// refuseSettings shows the form again with a description of what is wrong with it.
func (w adminPages) refuseSettings(rw http.ResponseWriter, r *http.Request, v *Visitor, err error) {
	code, key, why := w.faultOf(rw, r, err)
	if code != http.StatusBadRequest {
		w.Fail(rw, r, v, err)
		return
	}
	l := message.LanguageOf(r)
	w.showSettings(rw, r, v, code, settingsView{Problem: nameInWords(l, cmp.Or(why, key)), Lang: inOf(l, err)}, r.PostForm)
}
