package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// readMarkdown returns the text of headings, paragraphs, list items, table cells and code,
// without markup. Title and author come from a leading block of metadata.
func readMarkdown(b *builder, data []byte) error {
	s, err := b.decodeText(data)
	if err != nil {
		return err
	}
	return b.markdownText(b.frontMatter(cleanPlain(s)))
}

// markdownText writes Markdown text without leading metadata.
func (b *builder) markdownText(s string) error {
	src := []byte(s)
	if deepMarkdown(src, b.opt.MaxDepth) {
		return limitError("nesting of block quotes and lists", "MaxDepth", "deeper than allowed")
	}
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser().Parse(text.NewReader(src))
	return ast.Walk(doc, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		return b.markdownNode(n, enter, src)
	})
}

// deepMarkdown reports whether a line opens more than depth levels; the recursion of the parser, and ours, would be equally deep.
func deepMarkdown(src []byte, depth int) bool {
	level := 0
	for _, c := range src {
		switch c {
		case '>', '[', '*', '_', '-', '+':
			if level++; level > 64*depth {
				return true
			}
		case '\n':
			level = 0
		}
	}
	return false
}

func (b *builder) markdownNode(n ast.Node, enter bool, src []byte) (ast.WalkStatus, error) {
	switch n := n.(type) {
	case *ast.Heading:
		b.end()
		if !enter && b.res.Title == "" && n.Level == 1 {
			b.res.Title = headingText(b)
		}
		return ast.WalkContinue, nil
	case *ast.Text:
		if enter {
			b.text(string(n.Segment.Value(src)))
			switch {
			case n.HardLineBreak():
				b.line()
			case n.SoftLineBreak():
				b.softBreak()
			}
		}
	case *ast.String:
		if enter {
			b.text(string(n.Value))
		}
	case *ast.AutoLink:
		if enter {
			b.text(string(n.Label(src)))
		}
	case *ast.FencedCodeBlock, *ast.CodeBlock, *ast.HTMLBlock:
		b.end()
		if enter {
			b.markdownLines(n, src)
		}
		return ast.WalkSkipChildren, nil
	case *ast.RawHTML:
		return ast.WalkSkipChildren, nil
	case *extast.TableCell:
		b.end()
	default:
		if n.Type() == ast.TypeBlock {
			b.end()
		}
	}
	return ast.WalkContinue, nil
}

// headingText returns the last paragraph written, which is the heading that has just ended.
func headingText(b *builder) string {
	s := b.out.String()
	return s[strings.LastIndex(s, "\n\n")+1:]
}

// softBreak ends a source line inside a paragraph with a space, except after a character of a script without spaces.
func (b *builder) softBreak() {
	if r, _ := utf8.DecodeLastRune(b.para); !isUnspaced(r) {
		b.space()
	}
}

// isUnspaced reports whether r belongs to a script without spaces between words.
func isUnspaced(r rune) bool {
	return r >= 0x0e00 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar, unicode.Tibetan) ||
		r >= 0x3000 && r < 0x3020 || r >= 0xff00 && r < 0xff66)
}

// markdownLines writes the lines of a block without inline markup; it writes code as is, and HTML with the HTML reader.
func (b *builder) markdownLines(n ast.Node, src []byte) {
	var s strings.Builder
	for i := range n.Lines().Len() {
		l := n.Lines().At(i)
		s.Write(l.Value(src))
	}
	if _, ok := n.(*ast.HTMLBlock); ok {
		b.htmlText(s.String())
	} else {
		b.text(s.String())
	}
	b.end()
}

// frontMatter reads title and author from a block of metadata at the start of s (between lines of three hyphens, or pandoc's lines
// starting with %) and returns the rest.
func (b *builder) frontMatter(s string) string {
	if !strings.HasPrefix(s, "---\n") {
		return s
	}
	head, rest, ok := strings.Cut(s[4:], "\n---\n")
	if !ok || len(head) > 8192 {
		return s
	}
	for _, l := range strings.Split(head, "\n") {
		k, v, ok := strings.Cut(l, ":")
		if !ok && strings.TrimSpace(l) != "" && !strings.HasPrefix(l, " ") && !strings.HasPrefix(l, "-") {
			return s // this is not metadata, so keep everything
		}
		v = strings.Trim(strings.TrimSpace(v), `"'`)
		switch strings.ToLower(k) {
		case "title":
			b.res.Title = v
		case "date":
			b.dated(v)
		case "author", "authors":
			b.res.Author = v
		}
	}
	return rest
}
