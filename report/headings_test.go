package report

import (
	"fmt"
	"strings"
	"testing"

	"concordat"
)

// TestHeadingsInsidePassages: a heading between two copied paragraphs is neither marked nor counted, in any language; lines that are
// merely short are copied text.
func TestHeadingsInsidePassages(t *testing.T) {
	prose := map[string][3]string{
		"en": {"The survey of the northern wells began in May, and it ended when the first snow closed the road to the pass.",
			"3.2 Results of the Survey", "Of all the wells that were measured, eleven had fallen by more than a metre since the last survey was made."},
		"de": {"Die Messung der Brunnen im Norden begann im Mai und endete, als der erste Schnee die Straße zum Pass verschloss.",
			"Ergebnisse der Messung", "Von allen gemessenen Brunnen waren elf um mehr als einen Meter gefallen, seit man sie zuletzt gemessen hatte."},
		"zh": {"北部水井的测量从五月开始，一直持续到第一场雪封住通往山口的道路为止，前后共用了五个多月的时间。", "第三章 测量结果",
			"在所有测量过的水井之中，有十一口水井的水位自上次测量以来下降了一米以上，这一结果超出了人们的预料。"},
		"ru": {"Измерение северных колодцев началось в мае и закончилось, когда первый снег закрыл дорогу к перевалу в горах.",
			"Результаты измерения", "Из всех измеренных колодцев одиннадцать опустились более чем на метр с тех пор, как их измеряли в последний раз."},
	}
	of := func(text string) *Report {
		f := &Findings{Version: Version, Submission: concordat.Document{ID: "s", Text: text}}
		f.Passages = []concordat.Passage{{Span: concordat.Span{End: len(text)}, Source: concordat.Ref{Site: "a", Library: "l", Document: "x"},
			Kind: concordat.KindVerbatim, Similarity: 1, Text: text, SourceSpan: concordat.Span{End: len(text)}}}
		return Build(f, Rules{})
	}
	for lang, p := range prose {
		r := of(strings.Join(p[:], "\n\n"))
		var drawn []string
		for _, e := range r.Evidence {
			if e.Excluded == "" {
				drawn = append(drawn, strings.TrimSpace(e.Span.In(r.Submission.Text)))
			}
		}
		if strings.Join(drawn, "|") != p[0]+"|"+p[2] || r.Scores.Covered != 1 {
			t.Errorf("%s: drawn are %q, share %v", lang, drawn, r.Scores.Covered)
		}
	}
	var answers, verse, pasted strings.Builder
	for i := range 12 {
		fmt.Fprintf(&answers, "We will hire %d nurses for the ward\n\n", i)
		fmt.Fprintf(&verse, "The wind goes down at evening to the sea of %d\n", i)
		fmt.Fprintf(&pasted, "The survey of the wells began in May and it\n\nended when the first snow had closed road %d to the\n\n", i)
	}
	for name, text := range map[string]string{"answers": answers.String(), "verse": verse.String(), "pasted lines": pasted.String(),
		"one sentence without a stop": prose["en"][0] + "\n\n" + strings.TrimSuffix(prose["en"][2], ".")} {
		if r := of(text); len(r.Evidence) != 1 || r.Scores.Countable != r.Scores.Checked {
			t.Errorf("%s: %d passages, %d of %d letters could count", name, len(r.Evidence), r.Scores.Countable, r.Scores.Checked)
		}
	}
}
