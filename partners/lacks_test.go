package partners

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/site"
	"concordat/store"
)

// TestMirrorThatLacks: a named partner is asked instead of its mirror if documents are missing in the mirror, but not if the mirror is
// complete.
func TestMirrorThatLacks(t *testing.T) {
	m := &mirrorSet{}
	for _, lib := range []concordat.LibraryID{"whole", "lacking"} {
		x := store.Mirror{MirrorKey: store.MirrorKey{Site: "north", Library: lib}, Synced: time.Now(), Documents: 3}
		if lib == "lacking" {
			x.Withheld = 1
		}
		m.in, m.states = append(m.in, site.MirroredLibrary{Site: "north", Library: lib}), append(m.states, x)
	}
	var told []string
	tell := func(f string, args ...any) { told = append(told, fmt.Sprintf(f, args...)) }
	got := m.without(tell, "north", []concordat.LibraryID{"whole", "lacking", "other"}, true)
	if want := []concordat.LibraryID{"lacking", "other"}; !slices.Equal(got, want) {
		t.Errorf("asked are %v, want %v", got, want)
	}
	if len(m.in) != 1 || m.in[0].Library != "whole" || len(m.states) != 1 || m.states[0].Library != "whole" {
		t.Errorf("mirrors %+v are used, want the whole one", m.in)
	}
	m.without(tell, "north", []concordat.LibraryID{"whole"}, false)
	if len(told) != 3 || !strings.Contains(told[0], "is not asked and does not keep the question") ||
		!strings.Contains(told[1], "is asked directly") || !strings.Contains(told[2], "is not asked, because its mirror") {
		t.Errorf("told: %q", told)
	}
}
