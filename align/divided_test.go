package align_test

import (
	"fmt"
	"strings"
	"testing"

	"concordat"
	"concordat/align"
)

const statute = "凡有国籍之人不得任意剥夺其国籍亦不得否认其改变国籍的权利。" +
	"成年男女不受种族国籍或宗教的任何限制有权婚嫁和成立家庭他们在婚姻方面在结婚期间和在解除婚约时应有平等的权利。" +
	"只有经男女双方的自由和完全的同意才能缔婚。家庭是天然的和基本的社会单元并应受社会和国家的保护。" +
	"人人得有单独的财产所有权以及同他人合有的所有权任何人的财产不得任意剥夺。"

// lines splits a text into paragraphs of n letters.
func lines(text string, n int) string {
	var out []string
	for r := []rune(text); len(r) > 0; {
		k := min(n, len(r))
		out, r = append(out, string(r[:k])), r[k:]
	}
	return strings.Join(out, "\n\n")
}

// TestChineseDividedElsewhere: a copy counts as word for word wherever its lines and passages end, and changed words still count as
// changed.
func TestChineseDividedElsewhere(t *testing.T) {
	letters := []rune(statute)
	for n := 17; n <= 40; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			copied := lines(statute, n)
			found := align.Pair(align.Prepare(copied), align.Prepare(statute), align.Options{})
			if len(found) == 0 {
				t.Error("nothing found")
			}
			for _, p := range found {
				if p.Kind != concordat.KindVerbatim {
					t.Errorf("%s: got %s, similarity %.2f", copied[p.A.Start:p.A.End], p.Kind, p.Similarity)
				}
			}
		})
	}
	for from := range 20 {
		a := string(letters[from : from+30])
		found := align.Pair(align.Prepare(a), align.Prepare(statute), align.Options{})
		if len(found) != 1 || found[0].Kind != concordat.KindVerbatim {
			t.Errorf("%s: got %+v", a, found)
		}
	}
	changed := strings.NewReplacer("任意", "随便", "平等", "相同", "自由", "自愿", "天然", "自然", "保护", "维护", "任何", "所有", "权利", "利益",
		"剥夺", "拿走", "成立", "建立", "解除", "取消").Replace(statute)
	found := align.Pair(align.Prepare(lines(changed, 25)), align.Prepare(statute), align.Options{})
	if len(found) == 0 {
		t.Error("nothing found of the changed text")
	}
	for _, p := range found {
		if p.Kind == concordat.KindVerbatim {
			t.Errorf("changed words are word for word: %+v", p)
		}
	}
}
