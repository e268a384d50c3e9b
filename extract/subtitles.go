package extract

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	// cueTime matches the line that begins a cue of SubRip or WebVTT (W3C, WebVTT, section 4.1).
	cueTime = regexp.MustCompile(`^(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}\s*-->\s*`)
	cueTag  = regexp.MustCompile(`</?[a-zA-Z0-9][^<>]*>|\{\\[^}]*\}`)
)

// paragraphOfCues is the length, in characters, at which the end of a sentence in subtitles ends a paragraph.
const paragraphOfCues = 400

// readSubtitles reads the words in the cues of SubRip and WebVTT as running text, without numbers, times, marks and notes.
func readSubtitles(b *builder, data []byte) error {
	s, err := b.decodeText(data)
	if err != nil {
		return err
	}
	last := ""
	for block := range strings.SplitSeq(strings.ReplaceAll(cleanPlain(s), "\r", ""), "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		for len(lines) > 0 && !cueTime.MatchString(strings.TrimSpace(lines[0])) {
			lines = lines[1:]
		}
		if len(lines) < 2 {
			continue
		}
		words := strings.Join(strings.Fields(cueTag.ReplaceAllString(strings.Join(lines[1:], " "), "")), " ")
		if words == "" || words == last { // a cue that remains displayed
			continue
		}
		last = words
		b.space()
		b.text(words)
		r, _ := utf8.DecodeLastRuneInString(words)
		if strings.ContainsRune(".!?…。！？", r) && utf8.RuneCount(b.para) >= paragraphOfCues {
			b.end()
		}
	}
	b.end()
	return nil
}

// isSubtitles reports whether the beginning of a text, in lower case, looks like subtitles.
func isSubtitles(head string) bool {
	if strings.HasPrefix(head, "webvtt") {
		return true
	}
	number, rest, ok := strings.Cut(head, "\n")
	return ok && strings.Trim(strings.TrimSpace(number), "0123456789") == "" && cueTime.MatchString(strings.TrimSpace(rest))
}
