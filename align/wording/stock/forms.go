package stock

import (
	"slices"
	"strings"
)

// withForms returns the stock with the entries of a file like that of With, in which "#" begins a comment, a line is a paragraph, and
// [a|b] lists alternatives. It adds the runs of every combination without writing the combinations out, which would be thousands for some
// sentences. A list must not begin or end within a word.
func (s *Stock) withForms(file string) *Stock {
	out := s.clone()
	kind := Own
	for line := range strings.Lines(file) {
		if head, ok := strings.CutPrefix(line, entryMark); ok {
			name, _, _ := strings.Cut(head, "\t")
			kind = Kind(name)
		} else if !strings.HasPrefix(line, "#") {
			out.addForms(strings.TrimSpace(line), kind)
		}
	}
	return out
}

// addForms adds the runs in all forms of a paragraph. It reads the parts of the paragraph in order, and keeps only the ends of the forms
// so far, because a run that begins before a part contains at most gramWords-1 words of what precedes it.
func (s *Stock) addForms(paragraph string, kind Kind) {
	ends := map[string][]token{"": nil}
	for paragraph != "" {
		var each []string
		each, paragraph = nextPart(paragraph)
		next := map[string][]token{}
		for _, alternative := range each {
			in := sentences(alternative)
			for _, x := range in {
				s.add(x.tokens, kind)
			}
			for key, end := range ends {
				if len(in) == 0 {
					next[key] = end
					continue
				}
				first := in[0].tokens
				joined := slices.Concat(end, first[:min(len(first), gramWords-1)])
				s.add(joined, kind)
				switch last := in[len(in)-1].tokens; {
				case ended(alternative):
					end = nil
				case len(in) > 1 || len(first) >= gramWords-1:
					end = last[max(0, len(last)-gramWords+1):]
				default:
					end = joined[max(0, len(joined)-gramWords+1):]
				}
				next[keyOf(end)] = end
			}
		}
		ends = next
	}
}

// nextPart returns the alternatives of the first list, or the text before it as the only alternative, and the rest.
func nextPart(paragraph string) (each []string, rest string) {
	if in, ok := strings.CutPrefix(paragraph, "["); ok {
		list, rest, _ := strings.Cut(in, "]")
		return strings.Split(list, "|"), rest
	}
	n := strings.IndexByte(paragraph, '[')
	if n < 0 {
		n = len(paragraph)
	}
	return []string{paragraph[:n]}, paragraph[n:]
}

// ended reports whether a sentence ends at the end of a text.
func ended(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && strings.ContainsAny(text[len(text)-1:], ".!?;:")
}

func keyOf(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.text + " ")
	}
	return b.String()
}
