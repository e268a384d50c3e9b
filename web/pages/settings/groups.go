package settings

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"concordat/report"
	"concordat/web/message"
)

// settingForm is the type of form field for a setting.
type settingForm string

// The types of form fields.
const (
	formText    settingForm = "text"
	formNumber  settingForm = "number"
	formPercent settingForm = "percent" // for a share
	formSwitch  settingForm = "switch"  // for true and false, or for off and one other word
	formChoice  settingForm = "choice"  // for words, each described by the message setting.KEY.WORD
	formTongue  settingForm = "tongue"  // for languages
	formCounts  settingForm = "counts"  // a switch for a rule that excludes something: on means that it counts, so the value is false
	formKinds   settingForm = "kinds"   // for a rule that excludes words of a list: a tick means that the word counts
	formAbove   settingForm = "above"   // for a number; a negative number means never
)

// settingWords describes a setting. The messages setting.KEY and setting.KEY.how are its name and effect; formAbove also uses
// setting.KEY.never.
type settingWords struct {
	key  string
	form settingForm
}

// settingGroups are the settings that the page explains, by group. The messages setting.group.ID and setting.group.ID.how introduce a
// group. All other settings are shown only in the list of all keys.
var settingGroups = []struct {
	id   string
	keys []settingWords
}{
	{"site", []settingWords{{key: "site.title", form: formText}, {key: "report.language", form: formTongue},
		{key: "serve.low_water", form: formText}}},
	{"checks", []settingWords{{key: "check.threshold", form: formPercent}, {key: "check.probe", form: formChoice},
		{key: "check.short", form: formSwitch}, {key: "check.short_threshold", form: formPercent},
		{key: "check.again_days", form: formNumber}, {key: "submissions.add", form: formChoice},
		{key: "submissions.library", form: formText}}},
	{"counts", ruleSettings()},
	{"meaning", []settingWords{{key: "meaning.leads", form: formSwitch}, {key: "meaning.batches", form: formSwitch},
		{key: "meaning.index", form: formChoice}, {key: "meaning.encoder.run", form: formSwitch}}},
	{"partners", []settingWords{{key: "check.forward", form: formChoice}, {key: "meaning.partners", form: formSwitch}}},
}

// ruleSettings returns the settings for the rules of new reports.
func ruleSettings() []settingWords {
	var out []settingWords
	for _, r := range report.RuleTable() {
		one := settingWords{key: "report." + r.Name}
		switch r.Of(&report.Rules{}).(type) {
		case *bool:
			one.form = formSwitch
			if strings.HasPrefix(r.Name, "exclude_") {
				one.form = formCounts
			}
		case *float64:
			one.form = formPercent
		case *int:
			one.form = formNumber
			if r.Never != "" {
				one.form = formAbove
			}
		default:
			one.form = formText
			if len(r.Words) > 0 {
				one.form = formKinds
			}
		}
		out = append(out, one)
	}
	return out
}

// settingGroup is a group of settings on the page.
type settingGroup struct {
	ID      string
	Fields  []settingField
	Changes bool // at least one of the settings can be changed here
}

// settingField is a setting in the form shown on the page.
type settingField struct {
	Setting
	Form              settingForm
	Label, Effect     string // message keys
	NeverLabel        string // message key for the checkbox of formAbove that means a negative number
	Shown             string // the value of a number or a percentage
	On                bool   // state of a switch of either form, or of the checkbox of formAbove
	Options           []settingOption
	Least, Most, Step string // bounds and step of a number; empty for any
}

// settingOption is a selectable value.
type settingOption struct {
	Value, Label string // Label is a message key, the name of a language, or empty
	On           bool
}

// isSettingGroup reports whether id identifies a group of settings.
func isSettingGroup(id string) bool {
	for _, g := range settingGroups {
		if g.id == id {
			return true
		}
	}
	return false
}

// grouped returns the settings by group, with the values typed into the form unless typed is nil.
func grouped(all []Setting, typed url.Values) []settingGroup {
	by := map[string]Setting{}
	for _, s := range all {
		by[s.Key] = s
	}
	var out []settingGroup
	for _, g := range settingGroups {
		group := settingGroup{ID: g.id}
		for _, words := range g.keys {
			if s, ok := by[words.key]; ok && !s.Hidden {
				group.Fields = append(group.Fields, fieldOf(words, s, typed))
				group.Changes = group.Changes || s.Changeable
			}
		}
		if len(group.Fields) > 0 {
			out = append(out, group)
		}
	}
	return out
}

// fieldOf returns the form field for a setting.
func fieldOf(words settingWords, s Setting, typed url.Values) settingField {
	label := "setting." + words.key
	f := settingField{Setting: s, Form: words.form, Label: label, Effect: label + ".how", NeverLabel: label + ".never", Shown: s.Value,
		Least: s.Least, Most: s.Most}
	value := s.Value
	if to, ok := settingTyped(words.form, s, typed); ok {
		value = to
	}
	switch words.form {
	case formPercent:
		f.Shown, f.Least, f.Most, f.Step = "", "0", "100", "any"
		if x, err := strconv.ParseFloat(value, 64); err == nil {
			f.Shown = percentShown(x)
		}
	case formSwitch:
		f.On = value == "true" || slices.Contains(s.Words, "off") && value != "off"
	case formCounts:
		f.On = value != "true"
	case formChoice:
		for _, word := range s.Words {
			f.Options = append(f.Options, settingOption{word, "setting." + words.key + "." + word, word == value})
		}
	case formTongue:
		names := message.Languages()
		for i, word := range s.Words {
			f.Options = append(f.Options, settingOption{Value: word, Label: names[i].Name(), On: word == value})
		}
	case formKinds:
		excluded := strings.Split(value, ", ")
		for _, word := range ruleWords(words.key) {
			f.Options = append(f.Options, settingOption{Value: word, On: !slices.Contains(excluded, word)})
		}
	case formAbove:
		f.On, f.Shown, f.Least = strings.HasPrefix(value, "-"), value, "0"
		if f.On {
			f.Shown = ""
		}
	default:
		f.Shown = value
	}
	if typed.Has("percent:" + s.Key) { // shown even if it is not a number
		f.Shown = typed.Get("percent:" + s.Key)
	}
	return f
}

// ruleWords returns the words that the rule with the given configuration key can exclude.
func ruleWords(key string) []string {
	for _, r := range report.RuleTable() {
		if "report."+r.Name == key {
			return r.Words
		}
	}
	return nil
}

// percentShown formats a share as a percentage.
func percentShown(x float64) string {
	return strconv.FormatFloat(math.Round(100*x*1e6)/1e6, 'f', -1, 64)
}

// percentTyped parses a percentage, 0 to 100.
func percentTyped(text string) (float64, error) {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "%"))
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x <= 100) {
		return 0, message.Invalid("settings.percent", text)
	}
	return x, nil
}

// settingTyped converts a form's value for a setting to the configuration's form. Raw values come from the list of all keys.
func settingTyped(form settingForm, s Setting, f url.Values) (value string, ok bool) {
	if raw := "value:" + s.Key; f.Has(raw) {
		return strings.TrimSpace(f.Get(raw)), true
	}
	switch form {
	case formPercent:
		x, err := percentTyped(f.Get("percent:" + s.Key))
		if err != nil {
			return f.Get("percent:" + s.Key), f.Has("percent:" + s.Key)
		}
		return strconv.FormatFloat(math.Round(x*1e6)/1e8, 'f', -1, 64), true
	case formSwitch:
		if !f.Has("box:" + s.Key) {
			return "", false
		}
		words := [2]string{"false", "true"}
		if slices.Contains(s.Words, "off") { // off and on, or off and auto
			words = [2]string{"off", s.Words[1-slices.Index(s.Words, "off")]}
		}
		if f.Has("on:" + s.Key) {
			return words[1], true
		}
		return words[0], true
	case formCounts:
		return strconv.FormatBool(!f.Has("on:" + s.Key)), f.Has("box:" + s.Key)
	case formKinds:
		var excluded []string
		for _, word := range append(strings.Split(f.Get("was:"+s.Key), ", "), ruleWords(s.Key)...) { // in the previous order
			if word != "" && !slices.Contains(f["item:"+s.Key], word) && !slices.Contains(excluded, word) {
				excluded = append(excluded, word)
			}
		}
		return strings.Join(excluded, ", "), f.Has("list:" + s.Key)
	case formAbove:
		switch {
		case f.Has("never:" + s.Key):
			return "-1", true
		case strings.TrimSpace(f.Get("number:"+s.Key)) == "":
			return "0", f.Has("number:" + s.Key)
		}
		return strings.TrimSpace(f.Get("number:" + s.Key)), true
	}
	return "", false
}

// formOf returns the field type of the setting with the given key, or "" if the page does not explain the setting.
func formOf(key string) settingForm {
	for _, g := range settingGroups {
		for _, words := range g.keys {
			if words.key == key {
				return words.form
			}
		}
	}
	return ""
}

// nameInWords replaces the keys in a configuration error with their names on the page.
func nameInWords(l message.Language, problem string) string {
	for _, g := range settingGroups {
		for _, words := range g.keys {
			if rest, ok := strings.CutPrefix(problem, words.key+": "); ok {
				return l.Say("setting."+words.key) + ": " + rest
			}
		}
	}
	return problem
}
