package extract

import "testing"

func TestMetadataDates(t *testing.T) {
	for raw, want := range map[string]string{
		"2019-03-14T12:00:00Z":    "2019-03-14",
		"D:20190314120000+01'00'": "2019-03-14",
		"D:2019":                  "2019",
		"D:201903":                "2019-03",
		" 2019 ":                  "2019",
		"2019-3":                  "2019",
		"2019/03/14":              "2019-03-14",
		"2019-02-30":              "2019-02",
		"1601-01-01T00:00:00Z":    "",
		"1980-01-01":              "",
		"0001-01-01":              "",
		"yesterday":               "",
		"":                        "",
		"20190314":                "2019-03-14",
	} {
		b := &builder{}
		b.dated(raw)
		if b.res.Date != want {
			t.Errorf("%q: date %q, want %q", raw, b.res.Date, want)
		}
	}
	for name, c := range map[string]struct{ file, want string }{
		"page.html": {`<html><head><meta property="article:published_time" content="2021-05-06T07:08:09Z"><title>T</title></head><body><p>Some words of a page that is long enough.</p></body></html>`, "2021-05-06"},
		"mail.eml":  {"From: a@example.org\r\nSubject: On dates\r\nDate: Fri, 06 May 2022 07:08:09 +0000\r\nContent-Type: text/plain\r\n\r\nSome words of a message.\r\n", "2022-05-06"},
		"note.md":   {"---\ntitle: T\ndate: 2020-11\n---\n\nSome words of a note.\n", "2020-11"},
		"plain.txt": {"Written on 2020-11-02, but that is text and no metadata.", ""},
	} {
		r, err := Bytes(name, []byte(c.file), Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Date != c.want {
			t.Errorf("%s: date %q, want %q", name, r.Date, c.want)
		}
	}
}
