package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"concordat/extract"
)

// numberedProse is running text in lines.
var numberedProse = strings.Split(`The harbour office worked out the tide tables of the island in
spring and then handed them to the fishermen, who kept them in
their boats under the bench, dry and out of the wind. The
daughter of the keeper copied the figures into her book and
wrote down when the moon rose and from where the wind blew.
Later the book was found in a box that the town bought with
the house, and the scholars who read it learned how high the
water had stood. Nobody asked them how they knew, and so they
never said it; the box went back to the loft where it was
found.`, "\n")

// inDigits writes n in the digits of the script with the given zero.
func inDigits(zero rune, n int) string {
	return strings.Map(func(r rune) rune { return r - '0' + zero }, fmt.Sprint(n))
}

// TestLineNumbers: line numbers copied with a text are left out in any form, and the words are kept.
func TestLineNumbers(t *testing.T) {
	words := strings.Join(numberedProse, " ")
	for _, form := range []struct {
		name string
		line func(n int, l string) string
	}{
		{"before", func(n int, l string) string { return fmt.Sprintf("%d %s", n, l) }},
		{"in a column", func(n int, l string) string { return fmt.Sprintf("%3d  %s", n, l) }},
		{"with a tab", func(n int, l string) string { return fmt.Sprintf("%d\t%s", n, l) }},
		{"with a colon", func(n int, l string) string { return fmt.Sprintf("%d: %s", n, l) }},
		{"with a bar", func(n int, l string) string { return fmt.Sprintf("%d|%s", n, l) }},
		{"with zeros", func(n int, l string) string { return fmt.Sprintf("%04d %s", n, l) }},
		{"in Thai digits", func(n int, l string) string { return inDigits('๐', n) + "  " + l }},
		{"in Indian digits", func(n int, l string) string { return inDigits('०', 10+n) + " " + l }},
		{"in Arabic digits", func(n int, l string) string { return inDigits('٠', n) + ". " + l }},
		{"in wide digits", func(n int, l string) string { return inDigits('０', n) + " " + l }},
		{"from the middle", func(n int, l string) string { return fmt.Sprintf("%d %s", 416+n, l) }},
		{"in lines of their own", func(n int, l string) string { return fmt.Sprintf("%d\n%s", n, l) }},
		{"after", func(n int, l string) string { return fmt.Sprintf("%-66s%3d", l, n) }},
		{"every third", func(n int, l string) string {
			if n%3 != 0 {
				return "   " + l
			}
			return fmt.Sprintf("%-3d%s", n, l)
		}},
		{"between empty lines", func(n int, l string) string { return fmt.Sprintf("%d %s\n", n, l) }},
	} {
		var file, html, word strings.Builder
		for i, l := range numberedProse {
			s := form.line(i+1, l)
			file.WriteString(s + "\n")
			html.WriteString("<p>" + strings.ReplaceAll(s, "\n", "</p><p>") + "</p>")
			word.WriteString("<w:p><w:r><w:t>" + strings.ReplaceAll(strings.ReplaceAll(s, "\n", "</w:t></w:r></w:p><w:p><w:r><w:t>"), "\t",
				"</w:t><w:tab/><w:t>") + "</w:t></w:r></w:p>")
		}
		files := map[string][]byte{"a.txt": []byte(file.String()), "b.txt": []byte(strings.ReplaceAll(file.String(), "\n", "\r\n")),
			"a.html": []byte("<pre>" + file.String() + "</pre>"), "a.docx": zipped(t, "word/document.xml",
				`<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>`+word.String()+`</w:body></w:document>`)}
		if form.name != "after" && form.name != "every third" { // a browser shows several blanks as one
			files["b.html"] = []byte(html.String())
		}
		for name, data := range files {
			r, err := extract.Bytes(name, data, extract.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(strings.Fields(r.Text), " "); got != words {
				t.Errorf("%s, %s: got %q", form.name, name, got)
			}
			counted := 0
			for _, f := range r.Flags {
				if f.Code == extract.FlagHeaders {
					counted += f.Count
				}
			}
			if want := len(numberedProse); counted != want && form.name != "every third" {
				t.Errorf("%s, %s: %d numbers are flagged, want %d; %+v", form.name, name, counted, want, r.Flags)
			}
		}
	}
	chinese := strings.Split("海岛上的小港务所把潮汐表抄在一本绿色的账簿里\n每到冬天办事员都要用手重新抄写旧的栏目因为\n含盐的空气早已把纸张泡软新桥通车以后渡船的\n"+
		"船员被告知合同只会再延长十一个月却没有人问\n过他们早市上的蔬菜以后应该怎样运到岛上来了\n我们在码头沿线安装了便宜的传感器", "\n")
	file := ""
	for i, l := range chinese {
		file += fmt.Sprintf("%d %s\n", i+1, l)
	}
	r, err := extract.Bytes("a.txt", []byte(file), extract.Options{})
	if err != nil || strings.ReplaceAll(r.Text, "\n", "") != strings.Join(chinese, "") {
		t.Errorf("Chinese: got %+v, %v", r, err)
	}
}

// TestNumbersOfTheText: numbers at the start of lines in lists, tables, verses and chronicles belong to the text.
func TestNumbersOfTheText(t *testing.T) {
	for name, file := range map[string]string{
		"a list":      "1. Wash the glass with warm water from the kettle\n2. Dry it on a rack for an hour in the sun\n3. Fill it with clean sand from the river\n4. Weigh it twice on the brass scale\n5. Write the figures into the green book\n6. Clean the scale with a cloth",
		"sentences":   "1 The first rule of the house is that no lamp burns after ten.\n2 Nobody leaves the harbour before the clerk has signed the book.\n3 A captain who is late pays for the coal of the whole evening.\n4 Letters are read aloud on Fridays by the oldest of the keepers.\n5 The dog of the office sleeps under the desk and is not disturbed.\n6 Whoever breaks a glass buys two of the same kind in the town.",
		"years":       "1900 was the year of the fire\n1901 was the year of the flood\n1902 was the year of the hail\n1903 was the year of the dust\n1904 was the year of the ice\n1905 was the year of the war",
		"a table":     "1 apples and 3 pears\n2 apples and 6 pears\n3 apples and 9 pears\n4 apples and 12 pears\n5 apples and 15 pears\n6 apples and 18 pears",
		"a contents":  "Introduction  1\nThe harbour and its office  2\nTide tables  3\nThe book in the box  4\nWhat the scholars read  5\nConclusion  6",
		"one by one":  "1\n2\n3\n4\n5\n6\n7\n8",
		"a chronicle": "1914 the war began in the summer and the ferries stopped.\n1915 the winter was so cold that the harbour froze over twice.\n1916 the clerk died and his daughter took the green book over.\n1917 nobody wrote anything, because there was no paper on the island.\n1918 the war was over and the first ferry came back in November.\n1919 the new bridge was opened by a minister from the mainland.",
	} {
		r, err := extract.Bytes("a.txt", []byte(file), extract.Options{})
		if err != nil || r.Text != file {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
}

func FuzzLineNumbers(f *testing.F) {
	for _, s := range []string{"1 a\n2 b\n3 c\n4 d\n5 e\n6 f", "1\na b c\n2\nd e f\n\n3\ng", "x  1\ny  2\nz\t3\nq  4\nr  5",
		"5\n\n10 x\n15|y\n20: z\n\n\n25"} {
		f.Add(s)
		f.Add(strings.ReplaceAll(s, "\n", " and so on until the line is as long as it has to be\n"))
	}
	f.Fuzz(func(t *testing.T, s string) { checkMembers(t, "a.txt", []byte(s), fuzzLimits) })
}
