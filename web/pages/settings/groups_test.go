package settings

import (
	"testing"

	"concordat/web/message"
)

// TestSettingsHaveWords: every setting explained on the page has a name and an explanation, and every checkbox and option has a label.
func TestSettingsHaveWords(t *testing.T) {
	t.Parallel()
	en := message.Languages()[0]
	has := func(key string) {
		if en.Say(key) == key {
			t.Errorf("%s has no words", key)
		}
	}
	for _, g := range settingGroups {
		has("setting.group." + g.id)
		has("setting.group." + g.id + ".how")
		for _, s := range g.keys {
			has("setting." + s.key)
			has("setting." + s.key + ".how")
			if s.form == formAbove {
				has("setting." + s.key + ".never")
			}
		}
	}
}
