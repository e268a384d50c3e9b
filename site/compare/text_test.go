package compare_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
)

// TestTextChannel: a passage whose words are spread over the writer's own sentences is nominated by words and not by fingerprints, and
// documents nominated by words are compared even without a matched sentence.
func TestTextChannel(t *testing.T) {
	s := sitetest.NewSite(t, "lib")
	const source = "Glaciologists drilled an ice core from the Vostok plateau and dated volcanic ash layers in it by argon isotopes. " +
		"They compared methane bubbles trapped in the core with sediments from the Weddell basin."
	const spread = "Nobody had expected that the frozen Vostok plateau would tell anything about the history of eruptions far away. " +
		"Yet volcanic ash turned up, and argon gave the years, as several glaciologists in Leningrad had quietly hoped since childhood. " +
		"What the Weddell basin hides under its mud was another question, which methane answered in the end."
	docs := []site.Incoming{{ID: "source", Text: source}}
	for i, about := range []string{"harbour tariffs", "medieval guilds", "railway gauges", "wool prices", "lighthouse keepers",
		"parish registers", "copper mines"} {
		docs = append(docs, site.Incoming{ID: concordat.DocumentID("abcdefg"[i : i+1]), Text: "This essay treats " + about +
			" and what became of them. " + strings.Repeat("It says more about "+about+". ", 5)})
	}
	s.Add(t, "lib", docs...)
	for channel, want := range map[compare.Channel]bool{compare.ChannelFingerprints: false, compare.ChannelText: true,
		compare.ChannelBoth: true} {
		got, err := s.Nominate(t.Context(), site.Submission{ID: "sub", Text: spread}, site.CheckOptions{Channel: channel})
		if err != nil {
			t.Fatal(err)
		}
		if found := len(got) > 0 && got[0].Source.Document == "source" && got[0].Text && !got[0].Fingerprints; found != want {
			t.Errorf("channel %q nominates %v, want the source first: %v", channel, got, want)
		}
	}
	f, err := s.Check(t.Context(), site.Submission{ID: "sub", Text: "My own opening sentence stands here alone. " + source},
		site.CheckOptions{Channel: compare.ChannelText})
	if err != nil {
		t.Fatal(err)
	}
	covered := 0
	for _, src := range report.Build(f, report.Rules{}).Sources {
		if src.Document != "source" {
			t.Errorf("%s is a source", src.Document)
		}
		covered += src.Characters
	}
	if covered < 150 {
		t.Errorf("words alone cover %d characters, want the two sentences", covered)
	}
	if _, err := s.Check(t.Context(), site.Submission{ID: "sub", Text: source}, site.CheckOptions{Channel: "smell"}); !errors.Is(err,
		concordat.ErrInvalid) {
		t.Errorf("an unknown channel: %v, want ErrInvalid", err)
	}
}

// TestNominate: the two channels together name the source once, filters apply to both, and nothing is stored.
func TestNominate(t *testing.T) {
	s := sitetest.NewSite(t, "lib", "other")
	const text = "Glaciologists drilled an ice core from the Vostok plateau and dated volcanic ash layers in it by argon isotopes."
	for _, lib := range []concordat.LibraryID{"lib", "other"} {
		s.Add(t, lib, site.Incoming{ID: "d", Text: text})
	}
	got, err := s.Nominate(t.Context(), site.Submission{ID: "sub", Text: text}, site.CheckOptions{Libraries: []concordat.LibraryID{"lib"}})
	want := site.Candidate{Source: concordat.Ref{Site: "here", Library: "lib", Document: "d"}, Fingerprints: true, Text: true,
		Spans: []concordat.Span{{End: len(text)}}}
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	got, err = s.Nominate(t.Context(), site.Submission{ID: "sub", Text: text}, site.CheckOptions{Exclude: []concordat.Ref{want.Source}})
	if err != nil || len(got) != 1 || got[0].Source.Library != "other" {
		t.Errorf("without the document of lib: got %v, %v", got, err)
	}
}
